/** Passkeys in this browser: created for the signed-in user, and used at sign-in (WebAuthn). */
import { request } from './client.ts';
import { withoutSession } from './without-session.ts';

/** Browsers offer passkeys to pages under a host name only, over HTTPS or on this machine. */
export const canUsePasskeys =
  window.isSecureContext &&
  !/^[\d.]+$|^\[/.test(location.hostname) &&
  typeof window.PublicKeyCredential?.parseRequestOptionsFromJSON === 'function';

/**
 * Lets the person prove a passkey.
 * @param ticket of a sign-in that asks for the second factor
 * @returns what `POST /auth/passkeys/login` and `/dashboard/session` take as `credential`
 * @throws Error with the words for a person, MillraceError
 */
export async function provePasskey(ticket?: string): Promise<object> {
  const body = ticket === undefined ? {} : { ticket };
  const requested = await withoutSession.request('POST', '/auth/passkeys/authentication-options', { body });
  const options = requested.body as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return shown(navigator.credentials.get({ publicKey }), options.rpId);
}

/** Makes a passkey and adds it to the account. @throws Error with the words for a person, MillraceError */
export async function addPasskey(name: string): Promise<void> {
  const begun = await request<PublicKeyCredentialCreationOptionsJSON>('POST', '/auth/passkeys/registration-options');
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(begun.body);
  const credential = await shown(navigator.credentials.create({ publicKey }), begun.body.rp.id);
  await request('POST', '/auth/passkeys', { body: { ...(name === '' ? {} : { name }), credential } });
}

async function shown(requested: Promise<Credential | null>, site: string | undefined): Promise<object> {
  const credential = await requested.catch((error: unknown) => {
    throw new Error(reasonOf(error, site), { cause: error });
  });
  if (credential instanceof PublicKeyCredential) return credential.toJSON();
  throw new Error('The browser returned no passkey');
}

function reasonOf(error: unknown, site: string | undefined): string {
  if (!(error instanceof DOMException)) return String(error);
  if (error.name === 'InvalidStateError') return 'This device already has a passkey for your account';
  if (error.name === 'SecurityError') return `Passkeys of this server work only at ${site}`;
  if (error.name === 'NotAllowedError') return 'No passkey was used: the request was canceled or timed out';
  return error.message;
}
