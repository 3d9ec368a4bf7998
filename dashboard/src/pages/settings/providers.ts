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

/** The members without fields of their own, as JSON; empty for none. */
export function restOf(provider: ListedProvider | undefined): string {
  const rest = Object.entries(provider ?? {}).filter(([member]) => !FIELDS.some((field) => field === member));
  return rest.length === 0 ? '' : JSON.stringify(Object.fromEntries(rest), null, 2);
}

/** The title of a provider for people. */
export function titleOf({ kind, name }: Pick<ListedProvider, 'kind' | 'name'>): string {
  return kind === 'oidc' ? name : (PROVIDER_KINDS.find((one) => one.kind === kind)?.title ?? name);
}
