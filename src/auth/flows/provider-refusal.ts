/**
 * What went wrong at a provider, as errors of the closed table. Strangers are told what they can do; the reason, for owners,
 * is the `cause`. Pure. Not here: telling what an error of the library means (library-errors.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';

/**
 * An error code as providers have them (RFC 6749 section 5.2): words in small letters. Other text is not repeated: a
 * provider may send back what it was sent, and codes and tokens have digits or capitals.
 */
export const ERROR_WORD = /^(?=.{1,64}$)[a-z]+(?:[_.-][a-z]+)*$/;

/** The answer was not what the protocol asks for, or lies. */
export function answerRefused(name: string, reason: string): MillraceError {
  return new MillraceError('provider-answer-refused', `The answer of '${name}' cannot be trusted`, {
    hint: 'Try again; if it fails again, administrators of this server find the reason in the audit',
    cause: new Error(reason),
  });
}

/** No owner listed the address. */
export function redirectNotAllowed(): MillraceError {
  return new MillraceError('redirect-not-allowed', 'The sign-in may not end at this address', {
    hint: 'An owner must list the address, exactly as it is sent, in MILLRACE_REDIRECTS or by PUT /admin/settings',
  });
}

/** It cannot be reached, or may not be. */
export function providerUnavailable(name: string, reason: string): MillraceError {
  return new MillraceError('provider-unavailable', `'${name}' cannot be reached at the moment`, {
    headers: { 'retry-after': '10' },
    cause: new Error(reason),
  });
}

/** @param word its error code */
export function providerDenied(name: string, word: string): MillraceError {
  const told = ERROR_WORD.test(word) ? ` (${word})` : '';
  return new MillraceError('provider-denied', `'${name}' did not sign you in${told}`);
}

/** Nobody can sign in by it. */
export function missingProvider(name: string): MillraceError {
  return new MillraceError('provider-not-found', `There is no provider '${name.slice(0, 40)}' to sign in with`, {
    hint: 'GET /auth/providers lists what there is',
  });
}
