/**
 * Tries out what a SAML provider names, without signing anybody in: its metadata, its certificates, our own key, and the
 * address to enter there. Each is a verdict in words for the owner who sets it up (see providers/provider-check.ts).
 */
import { X509Certificate } from 'node:crypto';
import { isLoopback } from '../../kernel/config/loopback.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { callbackAddress, type Provider } from '../providers/provider.ts';
import type { Checked, CheckParts, CheckVerdict } from '../providers/provider-check.ts';
import { KnownSamlProviders, type SamlFacts } from './known-providers.ts';

const DAY_MS = 86_400_000;
/** So many days before its end a certificate is told of. */
const SOON_DAYS = 30;

export async function checkSamlProvider(provider: Provider, parts: CheckParts): Promise<Checked> {
  const { egress, base, now = Date.now } = parts;
  const redirect = callbackAddress(base, provider);
  const about = await aboutOr(provider, new KnownSamlProviders(egress, now));
  const checks: CheckVerdict[] = [
    typeof about === 'string'
      ? { check: 'metadata', passed: false, verdict: `${about}.` }
      : { check: 'metadata', passed: true, verdict: `${about.issuer} takes sign-ins at ${about.entryPoint}.` },
    ...(typeof about === 'string' ? [] : [judgeCertificates(about, now())]),
    judgeKey(provider, about),
    judgeAddress(redirect, `${base}/auth/saml/${provider.name}/metadata`),
  ];
  return { passed: checks.every(({ passed }) => passed), redirect, checks };
}

/** What is known, or why nothing is. */
async function aboutOr(provider: Provider, known: KnownSamlProviders): Promise<SamlFacts | string> {
  try {
    return await known.about(provider);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
  }
}

function judgeCertificates({ certificates }: SamlFacts, now: number): CheckVerdict {
  const ends = certificates.map((pem) => new X509Certificate(pem).validToDate.getTime());
  const days = Math.floor((Math.max(...ends) - now) / DAY_MS);
  const words = `${ends.length} certificate${ends.length === 1 ? '' : 's'} may be used; the last one ends in ${days} days.`;
  const passed = days >= SOON_DAYS;
  return { check: 'certificates', passed, verdict: passed ? words : `${words} Enter the next one of the provider.` };
}

function judgeKey({ saml }: Provider, about: SamlFacts | string): CheckVerdict {
  if (saml?.privateKey != null) {
    return { check: 'secret', passed: true, verdict: 'Requests are signed, and encrypted assertions can be read.' };
  }
  if (typeof about !== 'string' && about.wantsSigned) {
    return {
      check: 'secret',
      passed: false,
      verdict: 'The provider wants signed requests, and there is no private key.',
    };
  }
  return {
    check: 'secret',
    passed: true,
    verdict: 'There is no private key: nothing is signed or encrypted, and nobody is logged out at the provider.',
  };
}

function judgeAddress(redirect: string, metadata: string): CheckVerdict {
  const { protocol, hostname } = new URL(redirect);
  const passed = protocol === 'https:' || isLoopback(hostname);
  const words = `Give the provider our metadata (${metadata}), or enter ${redirect} as the Assertion Consumer Service.`;
  const advice = ' Browsers send no cookie along with its answer without https://; set MILLRACE_PUBLIC_URL.';
  return { check: 'redirect', passed, verdict: passed ? words : `${words}${advice}` };
}
