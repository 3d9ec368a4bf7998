/** Passkeys in this browser: made for the account of the person, and proved at the sign-in (WebAuthn). */
import { request } from './client.ts';
import { withoutSession } from './without-session.ts';

/** Browsers give passkeys to pages under a host name only, over HTTPS or on this machine. */
export const canUsePasskeys =
  window.isSecureContext &&
  !/^[\d.]+$|^\[/.test(location.hostname) &&
  typeof window.PublicKeyCredential?.parseRequestOptionsFromJSON === 'function';

/**
 * Lets the person prove a passkey.
 * @param ticket of a sign-in that asks for the second factor
 * @returns what `POST /auth/passkeys/login` and `/dashboard/session` take as `credential`
 * @throws Error with the words for a person, Problem
 */
export async function provePasskey(ticket?: string): Promise<object> {
  const body = ticket === undefined ? {} : { ticket };
  const asked = await withoutSession.request('POST', '/auth/passkeys/challenge', { body });
  const options = asked.body as PublicKeyCredentialRequestOptionsJSON;
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  return shown(navigator.credentials.get({ publicKey }), options.rpId);
}

/** Makes a passkey and adds it to the account. @throws Error with the words for a person, Problem */
export async function addPasskey(name: string): Promise<void> {
  const begun = await request<PublicKeyCredentialCreationOptionsJSON>('POST', '/auth/passkeys/begin');
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(begun.body);
  const credential = await shown(navigator.credentials.create({ publicKey }), begun.body.rp.id);
  await request('POST', '/auth/passkeys', { body: { ...(name === '' ? {} : { name }), credential } });
}

async function shown(asked: Promise<Credential | null>, site: string | undefined): Promise<object> {
  const credential = await asked.catch((error: unknown) => {
    throw new Error(reasonOf(error, site), { cause: error });
  });
  if (credential instanceof PublicKeyCredential) return credential.toJSON();
  throw new Error('The browser gave no passkey');
}

function reasonOf(error: unknown, site: string | undefined): string {
  if (!(error instanceof DOMException)) return String(error);
  if (error.name === 'InvalidStateError') return 'This device has a passkey of your account already';
  if (error.name === 'SecurityError') return `Passkeys of this server work at the address ${site}`;
  if (error.name === 'NotAllowedError') return 'No passkey was used: it was cancelled, or took too long';
  return error.message;
}
