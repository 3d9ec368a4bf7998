/**
 * Provider failures as errors of the closed table. Clients learn what they can do; the reason, for administrators, is
 * the `cause`. Pure.
 */
import { MillraceError } from '../../lib/errors.ts';

/**
 * An error code of a provider (RFC 6749 section 5.2): words in lower case. Other text is not repeated: a provider may
 * echo its input, and codes and tokens have digits or capitals.
 */
export const OAUTH_ERROR_CODE_PATTERN = /^(?=.{1,64}$)[a-z]+(?:[_.-][a-z]+)*$/;

/** The response violates the protocol, or is forged. */
export function providerResponseInvalid(name: string, reason: string): MillraceError {
  return new MillraceError('provider-response-invalid', `The response of '${name}' is not valid`, {
    hint: 'Try again; if it fails again, administrators of this server find the reason in the audit log',
    cause: new Error(reason),
  });
}

/** No administrator listed the URL. */
export function redirectNotAllowed(): MillraceError {
  return new MillraceError('redirect-not-allowed', 'This redirect URL is not allowed', {
    hint: 'An administrator must list the URL, exactly as it is sent, in MILLRACE_REDIRECT_URLS or with PATCH /admin/settings',
  });
}

/** It cannot be reached, or must not be called. */
export function providerUnavailable(name: string, reason: string): MillraceError {
  return new MillraceError('provider-unavailable', `'${name}' cannot be reached at the moment`, {
    headers: { 'retry-after': '10' },
    cause: new Error(reason),
  });
}

/** @param word its error code */
export function providerDenied(name: string, word: string): MillraceError {
  const reported = OAUTH_ERROR_CODE_PATTERN.test(word) ? ` (${word})` : '';
  return new MillraceError('provider-denied', `'${name}' did not sign you in${reported}`);
}

/** The provider is not available for sign-in. */
export function providerNotFound(name: string): MillraceError {
  return new MillraceError('provider-not-found', `There is no provider '${name.slice(0, 40)}' to sign in with`, {
    hint: 'GET /auth/providers lists the providers',
  });
}
