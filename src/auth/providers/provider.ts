/**
 * An identity provider as data: read from what an owner wrote, completed by the presets of its kind, and shown without
 * its secrets. Pure. Not here: where it is kept (provider-store.ts), what is taken from its claims (claims.ts).
 */
import { createPrivateKey } from 'node:crypto';
import { type Fault, MillraceError } from '../../kernel/errors.ts';
import { checked } from '../../kernel/parse-body.ts';
import { PRESETS } from './presets.ts';
import { PROVIDER, type ProviderBody } from './provider-schema.ts';
import { samlFaults } from './saml-faults.ts';

/**
 * Words after `/auth/` that are routes of Millrace itself, now or later: a provider of such a name could not be reached,
 * or would take the place of a route.
 */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'callback',
  'exchange',
  'fresh',
  'identities',
  'link',
  'login',
  'logout',
  'me',
  'mfa',
  'passkeys',
  'password',
  'providers',
  'refresh',
  'register',
  'reset',
  'saml',
  'sessions',
  'signin',
  'ticket',
  'verify',
]);

/** The members of a provider that are no secret, as the owner wrote them. Stored where each change is an event. */
export type WrittenProvider = Omit<ProviderBody, 'clientSecret' | 'privateKey'>;

export const SECRET_NAMES = ['clientSecret', 'privateKey'] as const;

export type SecretName = (typeof SECRET_NAMES)[number];

/** The secrets of a provider, each present if it has one; the private key is PEM. */
export type ProviderSecrets = { readonly [Name in SecretName]?: string };

type Scalar = string | number | boolean;

/** A provider as sign-in uses it: complete, with its secrets. It must not be logged, sent or stored as it is. */
export interface Provider {
  readonly name: string;
  readonly kind: ProviderBody['kind'];
  /** Another one after each change; two providers of the same name and version are the same. */
  readonly version: string;
  readonly clientId: string;
  /** Null for Apple, which has `apple`, and for a public client (RFC 6749 section 2.1). */
  readonly clientSecret: string | null;
  /** What Apple's client secret is made of; null for every other kind. */
  readonly apple: { readonly teamId: string; readonly keyId: string; readonly privateKey: string } | null;
  /** How a provider of SAML is known, and our own key; null for every other kind. */
  readonly saml: (NonNullable<ProviderBody['saml']> & { readonly privateKey: string | null }) | null;
  /** Issuer of id tokens (OpenID Connect); null where the protocol is another one. */
  readonly issuer: string | null;
  readonly scopes: readonly string[];
  /** These replace discovered endpoints; where there is no issuer, they are all there are. */
  readonly endpoints: NonNullable<ProviderBody['endpoints']>;
  readonly mapping: {
    /** Members of the profile, and the claim that each is taken from. */
    readonly profile: Readonly<Record<string, string>>;
    /** Members of the account's claims, and the claim that each is taken from. */
    readonly claims: Readonly<Record<string, string>>;
    readonly roles: { readonly claim: string; readonly values: Readonly<Record<string, readonly string[]>> } | null;
    /** Whether the mapping is applied at the first sign-in only, at each, or at the renewal of sessions too. */
    readonly when: 'first' | 'each' | 'renewal';
  };
  /** Claims that a user must have; one value of each list is enough. */
  readonly require: ReadonlyMap<string, readonly Scalar[]>;
  /** Roles of each account that is made here. */
  readonly roles: readonly string[];
  /** Whether a first sign-in makes an account; null where the setting for registration decides. */
  readonly register: boolean | null;
  /** Whether the tokens of the provider are kept. */
  readonly keepTokens: boolean;
  /** Whether an id token without the nonce of the sign-in is accepted. One with another nonce never is. */
  readonly nonce: 'required' | 'optional';
  /** Whether a code is bound to the sign-in by PKCE (RFC 7636). */
  readonly pkce: boolean;
  readonly enabled: boolean;
}

/** What is wrong with a URL that is to be called, as a sentence without its subject; null for nothing. */
export type CheckUrl = (url: string) => string | null;

/** A provider before its change, as far as the new one depends on it. */
interface Before {
  readonly written: WrittenProvider;
  readonly secrets: ProviderSecrets;
}

/**
 * Reads a provider as an owner sent it.
 * @param before the provider that is replaced: its secrets are kept where none are sent, as long as the place that they
 *   are sent to stays the same. Otherwise an administrator who must not see them could direct them to another server.
 * @param checkUrl what is wrong with a URL of the provider; null for nothing
 * @throws MillraceError `body-required`, `invalid-body` with the places
 */
export function parseProvider(body: unknown, before: Before | null, checkUrl: CheckUrl): Before {
  const { clientSecret, privateKey, ...written } = checked(PROVIDER, body);
  const faults: Fault[] = [];
  const refuse = (pointer: string, detail: string) => faults.push({ pointer, code: 'invalid-body', detail });
  if (RESERVED_NAMES.has(written.name)) refuse('/name', `'${written.name}' is a route of Millrace below /auth`);
  for (const name of membersOfOthers(written)) refuse(`/${name}`, `is not a member of the kind ${written.kind}`);
  for (const [pointer, address] of addressesOf(written)) {
    const fault = checkUrl(address);
    if (fault !== null) refuse(pointer, fault);
  }
  for (const [member, needed] of Object.entries(NEEDED)) {
    if (needed.includes(written.kind) && !(member in written)) refuse(`/${member}`, 'is required');
  }
  if (issuerOf(written) !== null && written.kind !== 'apple' && !(written.scopes ?? ['openid']).includes('openid')) {
    refuse('/scopes', "must hold 'openid': without it there is no id token");
  }
  if (written.mapping?.when === 'renewal' && (issuerOf(written) === null || written.keepTokens !== true)) {
    refuse(
      '/mapping/when',
      'can be \'renewal\' with OpenID Connect and "keepTokens":true only: it needs a refresh token',
    );
  }

  const moved = before !== null && targetOf(before.written) !== targetOf(written);
  const keep = (name: SecretName, sent: string | object | undefined, mayBe: boolean, mustBe: boolean) => {
    if (typeof sent === 'string') {
      if (!mayBe) refuse(`/${name}`, `is not a member of the kind ${written.kind}`);
      return { [name]: sent };
    }
    const kept = mayBe ? before?.secrets[name] : undefined;
    if (kept !== undefined && !moved) return { [name]: kept };
    if (kept !== undefined && (mustBe || sent !== undefined)) {
      refuse(`/${name}`, 'must be sent again: it is kept only while kind, client id, issuer and token endpoint stay');
    } else if (mustBe || sent !== undefined) refuse(`/${name}`, 'is required');
    return {};
  };
  const [isApple, isSaml] = [written.kind === 'apple', written.kind === 'saml'];
  const hasSecret = !isApple && !isSaml;
  const secrets: ProviderSecrets = {
    ...keep('clientSecret', clientSecret, hasSecret, hasSecret && written.kind !== 'oidc'),
    // With SAML a key goes together with its certificate: where neither is sent, there is none any more.
    ...(isSaml && privateKey === undefined && written.saml?.certificate === undefined
      ? {}
      : keep('privateKey', privateKey, isApple || isSaml, isApple)),
  };
  if (isSaml)
    for (const [pointer, detail] of samlFaults(written.saml ?? {}, secrets.privateKey)) refuse(pointer, detail);
  if (isApple && secrets.privateKey !== undefined && !isAppleKey(secrets.privateKey)) {
    refuse('/privateKey', 'must be a private key of the curve P-256, as PEM: the file AuthKey_….p8');
  }
  const [first] = faults;
  if (first === undefined) return { written, secrets };
  throw new MillraceError('invalid-body', `The provider is not as expected: ${first.pointer} ${first.detail}`, {
    faults,
  });
}

/** Completes a provider by the presets of its kind. */
export function toProvider(written: WrittenProvider, secrets: ProviderSecrets, version: string): Provider {
  const preset = PRESETS[written.kind];
  const { teamId, keyId, mapping = {} } = written;
  const isApple = teamId !== undefined && keyId !== undefined && secrets.privateKey !== undefined;
  return Object.freeze<Provider>({
    name: written.name,
    kind: written.kind,
    version,
    clientId: written.clientId,
    clientSecret: secrets.clientSecret ?? null,
    apple: isApple ? { teamId, keyId, privateKey: secrets.privateKey } : null,
    saml: written.kind === 'saml' ? { ...written.saml, privateKey: secrets.privateKey ?? null } : null,
    issuer: issuerOf(written),
    scopes: written.scopes ?? preset.scopes,
    endpoints: { ...preset.endpoints, ...written.endpoints },
    mapping: {
      profile: mapping.profile ?? preset.profile,
      claims: mapping.claims ?? {},
      roles: mapping.roles ?? null,
      when: mapping.when ?? 'first',
    },
    require: new Map(Object.entries(written.require ?? {}).map(([claim, wanted]) => [claim, [wanted].flat()])),
    roles: written.roles ?? [],
    register: written.register ?? null,
    keepTokens: written.keepTokens ?? false,
    nonce: written.nonce ?? 'required',
    pkce: written.pkce ?? true,
    enabled: written.enabled ?? true,
  });
}

/** A provider as answers show it: what was written, and of each secret only that it is there. */
export function toShownProvider(written: WrittenProvider, secrets: readonly SecretName[]): ProviderBody {
  const { name, kind, clientId, ...rest } = written;
  const shown = secrets.map((secret) => [secret, { set: true }] as const);
  return { name, kind, clientId, ...Object.fromEntries(shown), ...rest };
}

/**
 * Whether endpoints and keys are read from the issuer's discovery document: not where all that a sign-in needs is given.
 */
export function isDiscovered({ issuer, endpoints }: Pick<Provider, 'issuer' | 'endpoints'>): boolean {
  const { authorization, token, jwks } = endpoints;
  return issuer !== null && (authorization === undefined || token === undefined || jwks === undefined);
}

/**
 * The redirect address to register at the provider; with SAML, the Assertion Consumer Service.
 * @param base where people reach this server, without a slash at its end
 */
export function callbackAddress(base: string, { name, kind }: Pick<Provider, 'name' | 'kind'>): string {
  return kind === 'saml' ? `${base}/auth/saml/${name}/acs` : `${base}/auth/${name}/callback`;
}

/** Members that a kind must have. */
const NEEDED: Readonly<Record<string, readonly ProviderBody['kind'][]>> = {
  issuer: ['oidc'],
  teamId: ['apple'],
  keyId: ['apple'],
  saml: ['saml'],
};

function membersOfOthers(written: WrittenProvider): readonly string[] {
  const { kind, endpoints = {} } = written;
  const isOAuth = kind === 'github' || kind === 'facebook';
  const isSaml = kind === 'saml';
  const strange: (readonly [string, boolean])[] = [
    ['issuer', (isOAuth || isSaml) && 'issuer' in written],
    ['saml', !isSaml && 'saml' in written],
    ['scopes', isSaml && 'scopes' in written],
    ['endpoints', isSaml && 'endpoints' in written],
    ['keepTokens', isSaml && written.keepTokens === true],
    ['nonce', (isOAuth || isSaml) && 'nonce' in written],
    ['pkce', isSaml && 'pkce' in written],
    ['teamId', kind !== 'apple' && 'teamId' in written],
    ['keyId', kind !== 'apple' && 'keyId' in written],
    ['endpoints/jwks', isOAuth && 'jwks' in endpoints],
    ['endpoints/emails', kind !== 'github' && 'emails' in endpoints],
  ];
  return strange.flatMap(([member, isStrange]) => (isStrange ? [member] : []));
}

function issuerOf({ kind, issuer }: WrittenProvider): string | null {
  return issuer ?? PRESETS[kind].issuer;
}

/** What decides where secrets are sent, and as what. */
function targetOf(written: WrittenProvider): string {
  const { kind, clientId, endpoints } = written;
  return JSON.stringify([kind, clientId, issuerOf(written), endpoints?.token ?? null]);
}

function addressesOf({ issuer, endpoints = {}, saml = {} }: WrittenProvider): (readonly [string, string])[] {
  const given: Readonly<Record<string, string | undefined>> = {
    '/issuer': issuer,
    ...Object.fromEntries(Object.entries(endpoints).map(([name, address]) => [`/endpoints/${name}`, address])),
    '/saml/metadataUrl': saml.metadataUrl,
    '/saml/entryPoint': saml.entryPoint,
    '/saml/logoutUrl': saml.logoutUrl,
  };
  return Object.entries(given).flatMap(([pointer, address]) => (address === undefined ? [] : [[pointer, address]]));
}

function isAppleKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    return asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}
