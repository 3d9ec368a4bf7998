/**
 * Checks a provider without a sign-in: its discovery document, keys, clock, the form of its secret, and the redirect URL to
 * register there. Each check has a message for the administrator.
 */
import { createPublicKey, sign } from 'node:crypto';
import { stripTrailingSlash } from '../../config/addresses.ts';
import { isLoopback } from '../../config/loopback.ts';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { callbackUrl, type Provider, usesDiscovery } from './provider.ts';

/** Timeout of each of the two calls. */
const LIMITS = { timeoutMs: 5_000, maxBytes: 262_144 } as const;
/** Allowed difference of clocks, in seconds: tokens of a provider that is further ahead are not valid yet. */
const MAX_DRIFT_S = 60;

export interface ProviderCheckDeps {
  readonly egress: Pick<Egress, 'fetch' | 'checkUrl'>;
  /** The public URL of this server, without a slash at its end. */
  readonly base: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export const PROVIDER_CHECKS = [
  'discovery',
  'metadata',
  'keys',
  'certificates',
  'reached',
  'clock',
  'secret',
  'redirect',
] as const;

/** One check. */
export interface ProviderCheckResult {
  readonly name: (typeof PROVIDER_CHECKS)[number];
  readonly passed: boolean;
  readonly message: string;
}

export interface ProviderCheckReport {
  /** Whether all passed. */
  readonly passed: boolean;
  /** The redirect URL to register at the provider. */
  readonly redirectUrl: string;
  readonly checks: readonly ProviderCheckResult[];
}

/** The date of a response, and when it came, in milliseconds since 1970. */
interface Dated {
  readonly theirs: number;
  readonly ours: number;
}

/** Why a check failed, as a sentence. */
class Failed extends Error {
  override readonly name = 'Failed';
}

export async function checkProvider(provider: Provider, deps: ProviderCheckDeps): Promise<ProviderCheckReport> {
  const { now = Date.now } = deps;
  const checks: ProviderCheckResult[] = [];
  const look = async (check: ProviderCheckResult['name'], work: () => Promise<string> | string) => {
    try {
      checks.push({ name: check, passed: true, message: await work() });
    } catch (error) {
      if (!(error instanceof Failed || error instanceof EgressError)) throw error;
      checks.push({ name: check, passed: false, message: error.message });
    }
  };
  const dates: Dated[] = [];
  let responses = 0;
  const request = async (url: string): Promise<Response> => {
    const response = await deps.egress.fetch(url, { headers: { accept: 'application/json' } }, LIMITS);
    responses += 1;
    const theirs = Date.parse(response.headers.get('date') ?? '');
    if (!Number.isNaN(theirs)) dates.push({ theirs, ours: now() });
    return response;
  };

  const { issuer, endpoints } = provider;
  let jwks = endpoints.jwks;
  if (issuer !== null && usesDiscovery(provider)) {
    await look('discovery', async () => {
      const found = await objectAt(`${stripTrailingSlash(issuer)}/.well-known/openid-configuration`, request);
      const { jwks_uri: discovered } = found;
      jwks ??= typeof discovered === 'string' ? discovered : undefined;
      return judgeDiscovery(found, { ...provider, issuer }, deps.egress);
    });
  }
  if (issuer === null) {
    await look('reached', async () => {
      const url = endpoints.userinfo ?? endpoints.token ?? '';
      const { status } = await request(url);
      // Without a token it rejects the request, which shows that it exists.
      if (status < 500 && status !== 404) return `${url} responds.`;
      throw new Failed(`${url} returned status ${status}.`);
    });
  } else {
    await look('keys', async () => {
      if (jwks === undefined) throw new Failed('There is no URL of keys: id tokens could not be verified.');
      return judgeKeys(await objectAt(jwks, request), jwks);
    });
  }
  await look('clock', () => judgeClock(dates.at(-1), responses));
  await look('secret', () => judgeSecret(provider));
  const redirect = callbackUrl(deps.base, provider);
  await look('redirect', () => judgeRedirect(redirect, provider.kind));
  return { passed: checks.every(({ passed }) => passed), redirectUrl: redirect, checks };
}

/** @throws Failed, EgressError */
async function objectAt(url: string, request: (url: string) => Promise<Response>): Promise<Record<string, unknown>> {
  const response = await request(url);
  if (response.status !== 200) throw new Failed(`${url} returned status ${response.status}.`);
  const found: unknown = await response.json().catch(() => null);
  if (isPlainObject(found)) return found;
  throw new Failed(`${url} returned something other than a JSON object.`);
}

/** OpenID Connect Discovery 1.0, section 3 and 4.3. */
function judgeDiscovery(
  found: Record<string, unknown>,
  { issuer, pkce }: { readonly issuer: string; readonly pkce: boolean },
  egress: ProviderCheckDeps['egress'],
): string {
  if (stripTrailingSlash(String(found['issuer'])) !== stripTrailingSlash(issuer)) {
    throw new Failed(`The discovery document has the issuer ${short(found['issuer'])}, not ${issuer}.`);
  }
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
    const url = found[name];
    if (typeof url !== 'string') throw new Failed(`The discovery document has no ${name}.`);
    const issue = egress.checkUrl(url);
    if (issue !== null) throw new Failed(`The ${name} of the discovery document ${issue}.`);
  }
  const methods = found['code_challenge_methods_supported'];
  if (pkce && Array.isArray(methods) && !methods.includes('S256')) {
    throw new Failed('The provider lists PKCE methods, and S256 is not among them. Set its field "pkce" to false.');
  }
  return `The discovery document of ${issuer} is complete.`;
}

function judgeKeys({ keys }: Record<string, unknown>, url: string): string {
  const signing = (Array.isArray(keys) ? keys : []).filter((key) => isPlainObject(key) && isSigningKey(key));
  if (signing.length === 0) throw new Failed(`${url} contains no public key that could verify a signature.`);
  return `${url} contains ${signing.length === 1 ? '1 key that verifies' : `${signing.length} keys that verify`} signatures.`;
}

function isSigningKey(key: Record<string, unknown>): boolean {
  if (key['use'] === 'enc' || key['kty'] === 'oct') return false;
  try {
    return createPublicKey({ key, format: 'jwk' }).type === 'public';
  } catch {
    return false;
  }
}

function judgeClock(dated: Dated | undefined, responses: number): string {
  const undated = 'No response of the provider had a date, so the clocks could not be compared.';
  if (dated === undefined && responses === 0) throw new Failed(undated);
  // Some send none, such as Keycloak.
  if (dated === undefined) return `${undated} Check yourself that both are right.`;
  const drift = Math.round((dated.ours - dated.theirs) / 1_000);
  const words = `The clock of this server is ${Math.abs(drift)} s ${drift < 0 ? 'behind' : 'ahead of'} the provider's.`;
  if (Math.abs(drift) <= MAX_DRIFT_S) return words;
  throw new Failed(`${words} Tokens would seem expired, or not yet valid.`);
}

function judgeSecret({ apple, clientSecret }: Provider): string {
  if (apple !== null) {
    sign('sha256', Buffer.from('check'), { key: apple.privateKey, dsaEncoding: 'ieee-p1363' });
    return `The private key ${apple.keyId} can sign client secrets (ES256).`;
  }
  if (clientSecret === null)
    return 'There is no client secret: the client must be registered at the provider as a public client.';
  if (clientSecret.trim() !== clientSecret || /[\r\n]/.test(clientSecret)) {
    throw new Failed('The client secret starts or ends with a space, or has a line break: too much was copied.');
  }
  return 'A client secret is set. Only a sign-in shows whether it is the right one.';
}

function judgeRedirect(redirect: string, kind: Provider['kind']): string {
  const { protocol, hostname } = new URL(redirect);
  const words = `Register ${redirect} at the provider, exactly as shown here.`;
  if (kind === 'apple' && (protocol !== 'https:' || isLoopback(hostname))) {
    throw new Failed(
      `Apple accepts only public URLs with https://, and this one is ${redirect}. Set MILLRACE_PUBLIC_URL.`,
    );
  }
  if (protocol === 'https:' || isLoopback(hostname)) return words;
  throw new Failed(`${words} Most providers reject it without https://; set MILLRACE_PUBLIC_URL.`);
}

function short(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 200) : 'nothing';
}
