/** Identity providers as `/admin/providers` sends and takes them, and what the kinds are called. */
import type { ProviderBody } from '../../../../src/auth/providers/provider-schema.ts';

export type ListedProvider = ProviderBody;

export type ProviderKind = ProviderBody['kind'];

/** What is different for each kind: its title, the name that it gets first, and where its credentials are made. */
export const PROVIDER_KINDS: readonly {
  readonly kind: ProviderKind;
  readonly title: string;
  readonly name: string;
  readonly place: string;
}[] = [
  { kind: 'google', title: 'Google', name: 'google', place: 'Google Auth Platform → Clients → Web application' },
  { kind: 'github', title: 'GitHub', name: 'github', place: 'Settings → Developer settings → OAuth apps' },
  { kind: 'apple', title: 'Apple', name: 'apple', place: 'Identifiers → Services IDs, and Keys → Sign in with Apple' },
  { kind: 'facebook', title: 'Facebook', name: 'facebook', place: 'My Apps → Facebook Login → Settings' },
  {
    kind: 'oidc',
    title: 'OpenID Connect (Entra, Okta …)',
    name: 'staff',
    place: 'the application that you register there',
  },
  { kind: 'saml', title: 'SAML 2.0 (beta)', name: 'company', place: 'the service provider that you register there' },
];

/** Members that have fields of their own; the rest is edited as JSON. */
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

/** Members of `saml` with fields of their own. */
const SAML_FIELDS = ['metadataUrl', 'certificate'] as const;

/** The members without fields of their own, as JSON; empty for none. */
export function restOf(provider: ListedProvider | undefined): string {
  const rest = Object.entries(provider ?? {}).flatMap(([member, value]) => {
    if (FIELDS.some((field) => field === member)) return [];
    if (member !== 'saml') return [[member, value] as const];
    const inner = Object.entries(provider?.saml ?? {}).filter(([name]) => !SAML_FIELDS.some((field) => field === name));
    return inner.length === 0 ? [] : [[member, Object.fromEntries(inner)] as const];
  });
  return rest.length === 0 ? '' : JSON.stringify(Object.fromEntries(rest), null, 2);
}

/**
 * What is sent: the members of the JSON, and the fields over them. Empty fields are left out: a secret is then kept, and
 * everything else is as the kind has it.
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

/** The address that a provider sends the browser back to. @param base where people reach the server */
export function returnAddressOf(base: string, kind: ProviderKind, name: string): string {
  return kind === 'saml' ? `${base}/auth/saml/${name}/acs` : `${base}/auth/${name}/callback`;
}

/** The title of a provider for people. */
export function titleOf({ kind, name }: Pick<ListedProvider, 'kind' | 'name'>): string {
  return kind === 'oidc' || kind === 'saml' ? name : (PROVIDER_KINDS.find((one) => one.kind === kind)?.title ?? name);
}

/** What is lost by the settings of a provider that does less than the standard, as sentences. */
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
