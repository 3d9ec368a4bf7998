/**
 * Maps errors of `openid-client` to the closed table. The messages are our own words and short error codes, because the
 * errors of the library contain tokens. Pure.
 */
import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';
import { EgressError } from '../../egress/egress-error.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { Provider } from '../providers/provider.ts';
import {
  OAUTH_ERROR_CODE_PATTERN,
  providerDenied,
  providerResponseInvalid,
  providerUnavailable,
} from './provider-errors.ts';

/** How a provider words that it does not accept PKCE (RFC 7636). */
const ABOUT_PKCE = /code[_ ](?:challenge|verifier)|\bPKCE\b/i;
const WITHOUT_PKCE = 'if it does not support PKCE, set its field "pkce" to false';
const WITHOUT_NONCE = 'if its id tokens have no nonce, set its field "nonce" to "optional"';

/**
 * Maps the error of a call to a provider. If a setting of the provider may help, the reason names it.
 * @throws the error itself when it is not one of the provider's
 */
export function toProviderError(error: unknown, { name, pkce }: Pick<Provider, 'name' | 'pkce'>): MillraceError {
  if (error instanceof MillraceError) return error;
  const egress = causesOf(error).find((one) => one instanceof EgressError);
  if (egress !== undefined) return providerUnavailable(name, egress.message);
  const isAboutPkce = pkce && causesOf(error).some((one) => ABOUT_PKCE.test(descriptionOf(one)));
  if (error instanceof AuthorizationResponseError && !isAboutPkce) return providerDenied(name, error.error);
  const word = causesOf(error).flatMap((one) => errorWord(one) ?? [])[0];
  if (error instanceof ResponseBodyError || error instanceof WWWAuthenticateChallengeError || word !== undefined) {
    const advice = isAboutPkce || (pkce && word === 'invalid_request') ? `; ${WITHOUT_PKCE}` : '';
    return providerResponseInvalid(name, `it returned the error ${word ?? 'of a challenge'}${advice}`);
  }
  // The library throws a TypeError for invalid metadata.
  if (error instanceof ClientError || error instanceof TypeError) {
    const inner = error.cause instanceof Error ? `: ${error.cause.message}` : '';
    const reason = `${error.message}${inner}`;
    return providerResponseInvalid(name, /"nonce".*missing/.test(reason) ? `${reason}; ${WITHOUT_NONCE}` : reason);
  }
  throw error;
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one !== undefined && causes.length < 8; ) {
    causes.push(one);
    one = typeof one === 'object' && one !== null && 'cause' in one ? one.cause : undefined;
  }
  return causes;
}

/** The provider's own description of its error. It may contain secrets, so it is read and not repeated. */
function descriptionOf(one: unknown): string {
  if (typeof one !== 'object' || one === null) return '';
  const text = 'error_description' in one ? one.error_description : undefined;
  return typeof text === 'string' ? text : '';
}

/** The error code in a provider's response: as an error (RFC 6749 section 5.2), or in a 200 as GitHub does. */
function errorWord(one: unknown): string | undefined {
  if (typeof one !== 'object' || one === null) return undefined;
  const body = 'body' in one && typeof one.body === 'object' && one.body !== null ? one.body : one;
  return 'error' in body && typeof body.error === 'string' && OAUTH_ERROR_CODE_PATTERN.test(body.error)
    ? body.error
    : undefined;
}
