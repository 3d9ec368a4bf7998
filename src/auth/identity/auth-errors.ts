/** The errors of sign-in, worded in one file: they say what to do, and do not reveal what exists. */
import { MillraceError } from '../../lib/errors.ts';

/** The same for a wrong password, an unknown name and a disabled user. */
export function invalidCredentials(): MillraceError {
  return new MillraceError('invalid-credentials', 'The user name or the password is wrong', {
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

/** For a client that has proved the first factor. */
export function wrongMfaCode(): MillraceError {
  return new MillraceError('invalid-credentials', 'The code is not right, or was used', {
    hint: 'Wait for the next code of the authenticator, or use a recovery code',
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

/** For a user who signs in only with providers. */
export function passwordNotSet(): MillraceError {
  return new MillraceError('invalid-credentials', 'The user has no password', {
    hint: 'POST /auth/reset sends an e-mail with a link that sets one, if the user has an e-mail address',
  });
}

export function registrationClosed(): MillraceError {
  return new MillraceError('registration-closed', 'Only administrators of this server can create users', {
    hint: 'MILLRACE_REGISTRATION=open lets anyone register',
  });
}

/** The error for a link whose secret was used, has expired, was replaced by a newer one, or never existed. */
export function linkExpired(): MillraceError {
  return new MillraceError('link-expired', 'The link was used, has expired, or was replaced by a newer one', {
    hint: 'Request a new one',
  });
}

/** The error for a link that is opened in another browser. It still works in the right one. */
export function wrongBrowser(): MillraceError {
  return new MillraceError('link-expired', 'The link works only in the browser that requested it', {
    hint: 'Open it there, or enter the code from the e-mail where you requested it',
  });
}

/** The same for a wrong code, one that is too old or had too many attempts, and an e-mail address without a user. */
export function wrongEmailCode(): MillraceError {
  return new MillraceError('invalid-credentials', 'The code is not right, or no longer works', {
    hint: 'Enter the code from the newest e-mail, or request another one',
    headers: { 'www-authenticate': 'Bearer realm="millrace"' },
  });
}

export function magicLinkDisabled(): MillraceError {
  return new MillraceError('magic-link-disabled', 'Sign-in with a magic link is disabled', {
    hint: 'It needs a mail server (MILLRACE_SMTP_URL) and MILLRACE_MAGIC_LINK=on',
  });
}

/** The error when the mail server is too slow for the queued e-mails. */
export function emailQueueFull(): MillraceError {
  return new MillraceError('overloaded', 'Too many emails are being sent', { headers: { 'retry-after': '10' } });
}

/** The one error for every credential that is present but bad (RFC 6750 section 3.1). */
export function invalidToken(cause?: unknown): MillraceError {
  return new MillraceError('invalid-token', 'The credential is not valid', {
    headers: { 'www-authenticate': 'Bearer realm="millrace", error="invalid_token"' },
    cause,
  });
}
