/** Identity providers as `/admin/providers` returns and accepts them, and the names of the kinds. */
import type { ProviderBody } from '../../../../src/auth/providers/provider-schema.ts';

export type ListedProvider = ProviderBody;

export type ProviderKind = ProviderBody['kind'];

/** Differences between kinds: the title, the default name, and where to create the credentials. */
export const PROVIDER_KINDS: readonly {
  readonly kind: ProviderKind;
  readonly title: string;
  readonly name: string;
  readonly location: string;
}[] = [
  { kind: 'google', title: 'Google', name: 'google', location: 'Google Auth Platform → Clients → Web application' },
  { kind: 'github', title: 'GitHub', name: 'github', location: 'Settings → Developer settings → OAuth apps' },
  {
    kind: 'apple',
    title: 'Apple',
    name: 'apple',
    location: 'Identifiers → Services IDs, and Keys → Sign in with Apple',
  },
  { kind: 'facebook', title: 'Facebook', name: 'facebook', location: 'My Apps → Facebook Login → Settings' },
  {
    kind: 'oidc',
    title: 'OpenID Connect (Entra, Okta …)',
    name: 'staff',
    location: 'the application that you register there',
  },
  { kind: 'saml', title: 'SAML 2.0 (beta)', name: 'company', location: 'the service provider that you register there' },
];

/** Fields with inputs of their own; the rest is edited as JSON. */
const FIELDS = [
  'name',
  'kind',
  'clientId',
  'clientSecret',
  'teamId',
  'keyId',
  'privateKey',
  'issuer',
  'register',
  'enabled',
] as const;

/** Fields of `saml` with inputs of their own. */
const SAML_FIELDS = ['metadataUrl', 'certificate'] as const;

/** The fields without inputs, as JSON; empty for none. */
export function restOf(provider: ListedProvider | undefined): string {
  const rest = Object.entries(provider ?? {}).flatMap(([property, value]) => {
    if (FIELDS.some((field) => field === property)) return [];
    if (property !== 'saml') return [[property, value] as const];
    const inner = Object.entries(provider?.saml ?? {}).filter(([name]) => !SAML_FIELDS.some((field) => field === name));
    return inner.length === 0 ? [] : [[property, Object.fromEntries(inner)] as const];
  });
  return rest.length === 0 ? '' : JSON.stringify(Object.fromEntries(rest), null, 2);
}

/**
 * The request body: the fields of the JSON, overridden by the inputs. Empty inputs are left out: a secret is then kept,
 * and everything else is the default of the kind.
 */
export function bodyOf(kind: ProviderKind, texts: Readonly<Record<string, string>>, rest: string): object {
  const more: Record<string, unknown> = rest.trim() === '' ? {} : JSON.parse(rest);
  const given = Object.entries(texts).filter(([, value]) => value !== '');
  if (kind !== 'saml') return { ...more, ...Object.fromEntries(given.filter(([name]) => !isOfSaml(name))), kind };
  const saml = {
    ...(more['saml'] as object | undefined),
    ...Object.fromEntries(given.filter(([name]) => isOfSaml(name))),
  };
  return { ...more, ...Object.fromEntries(given.filter(([name]) => !isOfSaml(name))), saml, kind };
}

function isOfSaml(name: string): boolean {
  return SAML_FIELDS.some((field) => field === name);
}

/**
 * The callback URL of a provider.
 * @param base public URL of the server
 */
export function returnUrlOf(base: string, kind: ProviderKind, name: string): string {
  return kind === 'saml' ? `${base}/auth/saml/${name}/acs` : `${base}/auth/providers/${name}/callback`;
}

/** The title of a provider for people. */
export function titleOf({ kind, name }: Pick<ListedProvider, 'kind' | 'name'>): string {
  return kind === 'oidc' || kind === 'saml' ? name : (PROVIDER_KINDS.find((one) => one.kind === kind)?.title ?? name);
}

/** What is missing with a provider whose settings do less than the standard, as sentences. */
export function weaknessesOf({ nonce, pkce }: Pick<ListedProvider, 'nonce' | 'pkce'>): readonly string[] {
  return [
    ...(nonce === 'optional'
      ? [
          'Weaker: id tokens may lack a nonce ("nonce": "optional"). A stolen id token of another sign-in is not recognized.',
        ]
      : []),
    ...(pkce === false
      ? [
          'Weaker: codes are not bound by PKCE ("pkce": false). A code that was stolen on its way can be used in another sign-in.',
        ]
      : []),
  ];
}
