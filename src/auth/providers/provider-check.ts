/**
 * Tries out what a provider names, without signing anybody in: its discovery document, its keys, its clock, the form of
 * its secret, and the redirect address to register there. Each is a verdict in words for the owner who sets it up. Not
 * here: SAML (saml-sign-in/saml-check.ts), signing in, and where calls may go (egress/).
 */
import { createPublicKey, sign } from 'node:crypto';
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { withoutSlash } from '../../kernel/config/addresses.ts';
import { isLoopback } from '../../kernel/config/loopback.ts';
import { isPlain } from '../../kernel/objects.ts';
import { callbackAddress, isDiscovered, type Provider } from './provider.ts';

/** For each of the two calls. */
const LIMITS = { timeoutMs: 5_000, maxBytes: 262_144 } as const;
/** How far clocks may differ, in seconds: tokens of a provider that is further ahead are not valid yet. */
const MAX_DRIFT_S = 60;

export interface CheckParts {
  readonly egress: Pick<Egress, 'fetch' | 'checkUrl'>;
  /** Where people reach this server, without a slash at its end. */
  readonly base: string;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export const CHECKS = [
  'discovery',
  'metadata',
  'keys',
  'certificates',
  'reached',
  'clock',
  'secret',
  'redirect',
] as const;

/** One thing that was looked at. */
export interface CheckVerdict {
  readonly check: (typeof CHECKS)[number];
  readonly passed: boolean;
  readonly verdict: string;
}

export interface Checked {
  /** Whether all passed. */
  readonly passed: boolean;
  /** The redirect address to register at the provider. */
  readonly redirect: string;
  readonly checks: readonly CheckVerdict[];
}

/** The date of an answer, and when it came, in milliseconds since 1970. */
interface Dated {
  readonly theirs: number;
  readonly ours: number;
}

/** Why a check did not pass, as a sentence. */
class Failed extends Error {
  override readonly name = 'Failed';
}

export async function checkProvider(provider: Provider, parts: CheckParts): Promise<Checked> {
  const { now = Date.now } = parts;
  const checks: CheckVerdict[] = [];
  const look = async (check: CheckVerdict['check'], work: () => Promise<string> | string) => {
    try {
      checks.push({ check, passed: true, verdict: await work() });
    } catch (error) {
      if (!(error instanceof Failed || error instanceof EgressError)) throw error;
      checks.push({ check, passed: false, verdict: error.message });
    }
  };
  const dates: Dated[] = [];
  let answers = 0;
  const ask = async (url: string): Promise<Response> => {
    const answer = await parts.egress.fetch(url, { headers: { accept: 'application/json' } }, LIMITS);
    answers += 1;
    const theirs = Date.parse(answer.headers.get('date') ?? '');
    if (!Number.isNaN(theirs)) dates.push({ theirs, ours: now() });
    return answer;
  };

  const { issuer, endpoints } = provider;
  let jwks = endpoints.jwks;
  if (issuer !== null && isDiscovered(provider)) {
    await look('discovery', async () => {
      const found = await objectAt(`${withoutSlash(issuer)}/.well-known/openid-configuration`, ask);
      const { jwks_uri: discovered } = found;
      jwks ??= typeof discovered === 'string' ? discovered : undefined;
      return judgeDiscovery(found, { ...provider, issuer }, parts.egress);
    });
  }
  if (issuer === null) {
    await look('reached', async () => {
      const url = endpoints.userinfo ?? endpoints.token ?? '';
      const { status } = await ask(url);
      // Without a token it refuses, which shows that it is there.
      if (status < 500 && status !== 404) return `${url} answers.`;
      throw new Failed(`${url} answered with the status ${status}.`);
    });
  } else {
    await look('keys', async () => {
      if (jwks === undefined) throw new Failed('There is no address of keys: id tokens could not be verified.');
      return judgeKeys(await objectAt(jwks, ask), jwks);
    });
  }
  await look('clock', () => judgeClock(dates.at(-1), answers));
  await look('secret', () => judgeSecret(provider));
  const redirect = callbackAddress(parts.base, provider);
  await look('redirect', () => judgeRedirect(redirect, provider.kind));
  return { passed: checks.every(({ passed }) => passed), redirect, checks };
}

/** @throws Failed, EgressError */
async function objectAt(url: string, ask: (url: string) => Promise<Response>): Promise<Record<string, unknown>> {
  const answer = await ask(url);
  if (answer.status !== 200) throw new Failed(`${url} answered with the status ${answer.status}.`);
  const found: unknown = await answer.json().catch(() => null);
  if (isPlain(found)) return found;
  throw new Failed(`${url} answered with something that is not a JSON object.`);
}

/** OpenID Connect Discovery 1.0, section 3 and 4.3. */
function judgeDiscovery(
  found: Record<string, unknown>,
  { issuer, pkce }: { readonly issuer: string; readonly pkce: boolean },
  egress: CheckParts['egress'],
): string {
  if (withoutSlash(String(found['issuer'])) !== withoutSlash(issuer)) {
    throw new Failed(`The discovery document names the issuer ${short(found['issuer'])}, not ${issuer}.`);
  }
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri']) {
    const url = found[name];
    if (typeof url !== 'string') throw new Failed(`The discovery document has no ${name}.`);
    const fault = egress.checkUrl(url);
    if (fault !== null) throw new Failed(`The ${name} of the discovery document ${fault}.`);
  }
  const methods = found['code_challenge_methods_supported'];
  if (pkce && Array.isArray(methods) && !methods.includes('S256')) {
    throw new Failed('The provider names methods of PKCE, and S256 is not among them. Set its member "pkce" to false.');
  }
  return `The discovery document of ${issuer} is complete.`;
}

function judgeKeys({ keys }: Record<string, unknown>, url: string): string {
  const signing = (Array.isArray(keys) ? keys : []).filter((key) => isPlain(key) && isSigningKey(key));
  if (signing.length === 0) throw new Failed(`${url} holds no public key that could verify a signature.`);
  return `${url} holds ${signing.length === 1 ? '1 key that verifies' : `${signing.length} keys that verify`} signatures.`;
}

function isSigningKey(key: Record<string, unknown>): boolean {
  if (key['use'] === 'enc' || key['kty'] === 'oct') return false;
  try {
    return createPublicKey({ key, format: 'jwk' }).type === 'public';
  } catch {
    return false;
  }
}

function judgeClock(dated: Dated | undefined, answers: number): string {
  const undated = 'No answer of the provider had a date to compare the clocks by.';
  if (dated === undefined && answers === 0) throw new Failed(undated);
  // Some send none, as Keycloak does.
  if (dated === undefined) return `${undated} See yourself that both are right.`;
  const drift = Math.round((dated.ours - dated.theirs) / 1_000);
  const words = `The clock of this server is ${Math.abs(drift)} s ${drift < 0 ? 'behind' : 'ahead of'} the provider's.`;
  if (Math.abs(drift) <= MAX_DRIFT_S) return words;
  throw new Failed(`${words} Tokens would be taken for expired, or for not yet valid.`);
}

function judgeSecret({ apple, clientSecret }: Provider): string {
  if (apple !== null) {
    sign('sha256', Buffer.from('check'), { key: apple.privateKey, dsaEncoding: 'ieee-p1363' });
    return `The private key ${apple.keyId} can sign client secrets (ES256).`;
  }
  if (clientSecret === null) return 'There is no client secret: the provider must know this client as a public one.';
  if (clientSecret.trim() !== clientSecret || /[\r\n]/.test(clientSecret)) {
    throw new Failed(
      'The client secret begins or ends with a blank, or has a line break: it was copied with too much.',
    );
  }
  return 'A client secret is set. Only a sign-in shows whether it is the right one.';
}

function judgeRedirect(redirect: string, kind: Provider['kind']): string {
  const { protocol, hostname } = new URL(redirect);
  const words = `Register ${redirect} at the provider, exactly as it stands here.`;
  if (kind === 'apple' && (protocol !== 'https:' || isLoopback(hostname))) {
    throw new Failed(
      `Apple takes public addresses with https:// only, and this one is ${redirect}. Set MILLRACE_PUBLIC_URL.`,
    );
  }
  if (protocol === 'https:' || isLoopback(hostname)) return words;
  throw new Failed(`${words} Most providers refuse it without https://; set MILLRACE_PUBLIC_URL.`);
}

function short(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 200) : 'nothing';
}
