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

/** The error for a link that somebody opens in another browser. It still works in the right one. */
export function foreignBrowser(): MillraceError {
  return new MillraceError('link-unusable', 'The link works only in the browser that asked for it', {
    hint: 'Open it there, or type the code of the letter where you asked for it',
  });
}

/** The same for a wrong code, one that is too old or was tried too often, and an address without an account. */
export function wrongLetterCode(): MillraceError {
  return new MillraceError('sign-in-failed', 'The code is not right, or no longer works', {
    hint: 'Type the code of the newest letter, or ask for another letter',
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

export function linkSignInOff(): MillraceError {
  return new MillraceError('sign-in-link-off', 'Nobody can sign in by a letter here', {
    hint: 'It needs a mail server (MILLRACE_SMTP_URL) and MILLRACE_SIGN_IN_LINK=on',
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
