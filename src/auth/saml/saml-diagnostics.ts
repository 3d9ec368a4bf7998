/**
 * Tries out what a SAML provider names, without signing anybody in: its metadata, its certificates, our own key, and the
 * address to enter there. Each has a message for the administrator who sets it up (see providers/provider-diagnostics.ts).
 */
import { X509Certificate } from 'node:crypto';
import { isLoopback } from '../../config/loopback.ts';
import { MillraceError } from '../../lib/errors.ts';
import { callbackUrl, type Provider } from '../providers/provider.ts';
import type { ProviderCheckDeps, ProviderCheckReport, ProviderCheckResult } from '../providers/provider-diagnostics.ts';
import { SamlMetadataCache, type SamlProviderConfig } from './idp-metadata-cache.ts';

const DAY_MS = 86_400_000;
/** So many days before its expiry a certificate is reported. */
const SOON_DAYS = 30;

export async function checkSamlProvider(provider: Provider, deps: ProviderCheckDeps): Promise<ProviderCheckReport> {
  const { egress, base, now = Date.now } = deps;
  const redirect = callbackUrl(base, provider);
  const about = await aboutOr(provider, new SamlMetadataCache(egress, now));
  const checks: ProviderCheckResult[] = [
    typeof about === 'string'
      ? { name: 'metadata', passed: false, message: `${about}.` }
      : { name: 'metadata', passed: true, message: `${about.issuer} accepts sign-ins at ${about.entryPoint}.` },
    ...(typeof about === 'string' ? [] : [judgeCertificates(about, now())]),
    judgeKey(provider, about),
    judgeAddress(redirect, `${base}/auth/saml/${provider.name}/metadata`),
  ];
  return { passed: checks.every(({ passed }) => passed), redirectUrl: redirect, checks };
}

/** The data of the provider, or why there is none. */
async function aboutOr(provider: Provider, known: SamlMetadataCache): Promise<SamlProviderConfig | string> {
  try {
    return await known.about(provider);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const reason = error.cause instanceof Error ? error.cause.message : error.message;
    return `${reason.slice(0, 1).toUpperCase()}${reason.slice(1)}`;
  }
}

function judgeCertificates({ certificates }: SamlProviderConfig, now: number): ProviderCheckResult {
  const ends = certificates.map((pem) => new X509Certificate(pem).validToDate.getTime());
  const days = Math.floor((Math.max(...ends) - now) / DAY_MS);
  const words = `${ends.length} certificate${ends.length === 1 ? '' : 's'} can be used; the last one expires in ${days} days.`;
  const passed = days >= SOON_DAYS;
  return { name: 'certificates', passed, message: passed ? words : `${words} Enter the next one of the provider.` };
}

function judgeKey({ saml }: Provider, about: SamlProviderConfig | string): ProviderCheckResult {
  if (saml?.privateKey != null) {
    return { name: 'secret', passed: true, message: 'Requests are signed, and encrypted assertions can be read.' };
  }
  if (typeof about !== 'string' && about.wantsSigned) {
    return {
      name: 'secret',
      passed: false,
      message: 'The provider requires signed requests, and there is no private key.',
    };
  }
  return {
    name: 'secret',
    passed: true,
    message: 'There is no private key: nothing is signed or encrypted, and users are not signed out at the provider.',
  };
}

function judgeAddress(redirect: string, metadata: string): ProviderCheckResult {
  const { protocol, hostname } = new URL(redirect);
  const passed = protocol === 'https:' || isLoopback(hostname);
  const words = `Give the provider our metadata (${metadata}), or enter ${redirect} as the Assertion Consumer Service.`;
  const advice = ' Without https:// browsers send no cookie with its response; set MILLRACE_PUBLIC_URL.';
  return { name: 'redirect', passed, message: passed ? words : `${words}${advice}` };
}
