/**
 * An identity provider as data: parsed from what an administrator wrote, completed by the presets of its kind, and
 * shown without its secrets. Pure.
 */
import { createPrivateKey } from 'node:crypto';
import { type Issue, MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { PROVIDER_PRESETS } from './presets.ts';
import { PROVIDER_BODY, type ProviderBody } from './provider-schema.ts';
import { samlIssues } from './saml-validation.ts';

/** The fields of a provider without secrets, as the administrator wrote them. Stored where each change is an event. */
export type ProviderDefinition = Omit<ProviderBody, 'clientSecret' | 'privateKey'>;

export const PROVIDER_SECRET_NAMES = ['clientSecret', 'privateKey'] as const;

export type ProviderSecretName = (typeof PROVIDER_SECRET_NAMES)[number];

/** The secrets of a provider, each present if it has one; the private key is PEM. */
export type ProviderSecrets = { readonly [Name in ProviderSecretName]?: string };

type Scalar = string | number | boolean;

/** A provider as sign-in uses it: complete, with its secrets. It must not be logged, sent or stored as it is. */
export interface Provider {
  readonly name: string;
  readonly kind: ProviderBody['kind'];
  /** Different after each change; two providers of the same name and version are the same. */
  readonly version: string;
  readonly clientId: string;
  /** Null for Apple, which has `apple`, and for a public client (RFC 6749 section 2.1). */
  readonly clientSecret: string | null;
  /** The parts of Apple's client secret; null for every other kind. */
  readonly apple: { readonly teamId: string; readonly keyId: string; readonly privateKey: string } | null;
  /** The SAML settings, and our own key; null for every other kind. */
  readonly saml: (NonNullable<ProviderBody['saml']> & { readonly privateKey: string | null }) | null;
  /** Issuer of id tokens (OpenID Connect); null where the protocol is another one. */
  readonly issuer: string | null;
  readonly scopes: readonly string[];
  /** These replace discovered endpoints; without an issuer, they are the only ones. */
  readonly endpoints: NonNullable<ProviderBody['endpoints']>;
  readonly mapping: {
    /** Fields of the profile, and the claim of each. */
    readonly profile: Readonly<Record<string, string>>;
    /** Fields of the user's claims, and the claim of each. */
    readonly claims: Readonly<Record<string, string>>;
    readonly roles: { readonly claim: string; readonly values: Readonly<Record<string, readonly string[]>> } | null;
    /** Whether the mapping is applied at the first sign-in only, at each, or at the renewal of sessions too. */
    readonly when: 'first' | 'each' | 'renewal';
  };
  /** Claims that a user must have; one value of each list is enough. */
  readonly require: ReadonlyMap<string, readonly Scalar[]>;
  /** Roles of each user that is created here. */
  readonly roles: readonly string[];
  /** Whether a first sign-in creates a user; null where the setting for registration decides. */
  readonly register: boolean | null;
  /** Whether the tokens of the provider are stored. */
  readonly storeTokens: boolean;
  /** Whether an id token without the nonce of the sign-in is accepted. One with another nonce never is. */
  readonly nonce: 'required' | 'optional';
  /** Whether PKCE binds a code to the sign-in (RFC 7636). */
  readonly pkce: boolean;
  readonly enabled: boolean;
}

/** The error of a URL to call, as a sentence without its subject; null for none. */
export type CheckUrl = (url: string) => string | null;

/** A provider before its change, as far as the new one depends on it. */
interface Before {
  readonly written: ProviderDefinition;
  readonly secrets: ProviderSecrets;
}

/**
 * Parses a provider as an administrator sent it.
 * @param before the provider that is replaced: its secrets are kept where none are sent, as long as they go to the same
 * URLs. Otherwise an administrator who must not see them could direct them to another server.
 * @param checkUrl the error of a URL of the provider; null for none
 * @throws MillraceError `body-required`, `invalid-body` with JSON Pointers
 */
export function parseProvider(body: unknown, before: Before | null, checkUrl: CheckUrl): Before {
  const { clientSecret, privateKey, ...written } = validateBody(PROVIDER_BODY, body);
  const issues: Issue[] = [];
  const refuse = (pointer: string, detail: string) => issues.push({ pointer, code: 'invalid-body', detail });
  for (const name of fieldsOfOthers(written)) refuse(`/${name}`, `is not a field of the kind ${written.kind}`);
  for (const [pointer, address] of addressesOf(written)) {
    const issue = checkUrl(address);
    if (issue !== null) refuse(pointer, issue);
  }
  for (const [field, needed] of Object.entries(NEEDED)) {
    if (needed.includes(written.kind) && !(field in written)) refuse(`/${field}`, 'is required');
  }
  if (issuerOf(written) !== null && written.kind !== 'apple' && !(written.scopes ?? ['openid']).includes('openid')) {
    refuse('/scopes', "must contain 'openid': without it there is no id token");
  }
  if (written.mapping?.when === 'renewal' && (issuerOf(written) === null || written.storeTokens !== true)) {
    refuse(
      '/mapping/when',
      'can be \'renewal\' with OpenID Connect and "storeTokens":true only: it needs a refresh token',
    );
  }

  const moved = before !== null && targetOf(before.written) !== targetOf(written);
  const keep = (name: ProviderSecretName, sent: string | object | undefined, mayBe: boolean, mustBe: boolean) => {
    if (typeof sent === 'string') {
      if (!mayBe) refuse(`/${name}`, `is not a field of the kind ${written.kind}`);
      return { [name]: sent };
    }
    const kept = mayBe ? before?.secrets[name] : undefined;
    if (kept !== undefined && !moved) return { [name]: kept };
    if (kept !== undefined && (mustBe || sent !== undefined)) {
      refuse(
        `/${name}`,
        'must be sent again: it is kept only if kind, client id, issuer and token endpoint stay the same',
      );
    } else if (mustBe || sent !== undefined) refuse(`/${name}`, 'is required');
    return {};
  };
  const [isApple, isSaml] = [written.kind === 'apple', written.kind === 'saml'];
  const hasSecret = !isApple && !isSaml;
  const secrets: ProviderSecrets = {
    ...keep('clientSecret', clientSecret, hasSecret, hasSecret && written.kind !== 'oidc'),
    // With SAML a key goes together with its certificate: if neither is sent, both are removed.
    ...(isSaml && privateKey === undefined && written.saml?.certificate === undefined
      ? {}
      : keep('privateKey', privateKey, isApple || isSaml, isApple)),
  };
  if (isSaml)
    for (const [pointer, detail] of samlIssues(written.saml ?? {}, secrets.privateKey)) refuse(pointer, detail);
  if (isApple && secrets.privateKey !== undefined && !isAppleKey(secrets.privateKey)) {
    refuse('/privateKey', 'must be a private key of the curve P-256, as PEM: the file AuthKey_….p8');
  }
  const [first] = issues;
  if (first === undefined) return { written, secrets };
  throw new MillraceError('invalid-body', `The provider is not valid: ${first.pointer} ${first.detail}`, {
    issues,
  });
}

/** Completes a provider by the presets of its kind. */
export function toProvider(written: ProviderDefinition, secrets: ProviderSecrets, version: string): Provider {
  const preset = PROVIDER_PRESETS[written.kind];
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
    require: new Map(Object.entries(written.require ?? {}).map(([claim, requested]) => [claim, [requested].flat()])),
    roles: written.roles ?? [],
    register: written.register ?? null,
    storeTokens: written.storeTokens ?? false,
    nonce: written.nonce ?? 'required',
    pkce: written.pkce ?? true,
    enabled: written.enabled ?? true,
  });
}

/** A provider in responses: what was written, and of each secret only that it exists. */
export function toProviderView(written: ProviderDefinition, secrets: readonly ProviderSecretName[]): ProviderBody {
  const { name, kind, clientId, ...rest } = written;
  const shown = secrets.map((secret) => [secret, { set: true }] as const);
  return { name, kind, clientId, ...Object.fromEntries(shown), ...rest };
}

/**
 * Whether endpoints and keys are read from the issuer's discovery document: not if all that a sign-in needs is given.
 */
export function usesDiscovery({ issuer, endpoints }: Pick<Provider, 'issuer' | 'endpoints'>): boolean {
  const { authorization, token, jwks } = endpoints;
  return issuer !== null && (authorization === undefined || token === undefined || jwks === undefined);
}

/**
 * The redirect URL to register at the provider; with SAML, the Assertion Consumer Service.
 * @param base the public URL of this server, without a slash at its end
 */
export function callbackUrl(base: string, { name, kind }: Pick<Provider, 'name' | 'kind'>): string {
  return kind === 'saml' ? `${base}/auth/saml/${name}/acs` : `${base}/auth/providers/${name}/callback`;
}

/** Required fields of a kind. */
const NEEDED: Readonly<Record<string, readonly ProviderBody['kind'][]>> = {
  issuer: ['oidc'],
  teamId: ['apple'],
  keyId: ['apple'],
  saml: ['saml'],
};

function fieldsOfOthers(written: ProviderDefinition): readonly string[] {
  const { kind, endpoints = {} } = written;
  const isOAuth = kind === 'github' || kind === 'facebook';
  const isSaml = kind === 'saml';
  const strange: (readonly [string, boolean])[] = [
    ['issuer', (isOAuth || isSaml) && 'issuer' in written],
    ['saml', !isSaml && 'saml' in written],
    ['scopes', isSaml && 'scopes' in written],
    ['endpoints', isSaml && 'endpoints' in written],
    ['storeTokens', isSaml && written.storeTokens === true],
    ['nonce', (isOAuth || isSaml) && 'nonce' in written],
    ['pkce', isSaml && 'pkce' in written],
    ['teamId', kind !== 'apple' && 'teamId' in written],
    ['keyId', kind !== 'apple' && 'keyId' in written],
    ['endpoints/jwks', isOAuth && 'jwks' in endpoints],
    ['endpoints/emails', kind !== 'github' && 'emails' in endpoints],
  ];
  return strange.flatMap(([field, isStrange]) => (isStrange ? [field] : []));
}

function issuerOf({ kind, issuer }: ProviderDefinition): string | null {
  return issuer ?? PROVIDER_PRESETS[kind].issuer;
}

/** The fields that decide where secrets are sent, and as what. */
function targetOf(written: ProviderDefinition): string {
  const { kind, clientId, endpoints } = written;
  return JSON.stringify([kind, clientId, issuerOf(written), endpoints?.token ?? null]);
}

function addressesOf({ issuer, endpoints = {}, saml = {} }: ProviderDefinition): (readonly [string, string])[] {
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
