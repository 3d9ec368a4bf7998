/** The errors of sign-in, worded once: they say what to do, and do not reveal what exists. */
import { MillraceError } from '../../kernel/errors.ts';

/** The same for a wrong password, an unknown name and a disabled account. */
export function signInFailed(): MillraceError {
  return new MillraceError('sign-in-failed', 'The name or the password is not right', {
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

/** Told to a client that has proved the first factor. */
export function wrongCode(): MillraceError {
  return new MillraceError('sign-in-failed', 'The code is not right, or was used', {
    hint: 'Wait for the next code of the authenticator, or use a recovery code',
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

/** Told to the holder of an account that is signed in by providers alone. */
export function noPassword(): MillraceError {
  return new MillraceError('sign-in-failed', 'The account has no password', {
    hint: 'POST /auth/reset sends a letter that sets one, if the account has an address',
  });
}

export function registrationClosed(): MillraceError {
  return new MillraceError('registration-closed', 'Only administrators of this server can make accounts', {
    hint: 'MILLRACE_REGISTRATION=open lets anybody register',
  });
}

/** The error for a link whose secret was used, has expired, was replaced by a newer one, or never existed. */
export function linkUnusable(): MillraceError {
  return new MillraceError('link-unusable', 'The link was used, has expired, or was replaced by a newer one', {
    hint: 'Ask for a new one',
  });
}

/** The error when the mail server is too slow for the letters that wait. */
export function tooManyLetters(): MillraceError {
  return new MillraceError('overloaded', 'Too many emails are being sent', { headers: { 'retry-after': '10' } });
}

/** The one answer to every credential that is present but bad (RFC 6750 section 3.1). */
export function invalidCredential(cause?: unknown): MillraceError {
  return new MillraceError('invalid-credential', 'The credential is not valid', {
    headers: { 'www-authenticate': 'Bearer realm="millrace", error="invalid_token"' },
    cause,
  });
}
