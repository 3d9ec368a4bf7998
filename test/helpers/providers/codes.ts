/**
 * Authorization codes of the stand-ins: each works once, for the client, the redirect URL and the PKCE verifier that it
 * was issued for (RFC 6749 section 4.1.3, RFC 7636 section 4.6).
 */
import { createHash, randomUUID } from 'node:crypto';

export interface Granted {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly login: string;
  readonly scopes: readonly string[];
  readonly nonce: string | null;
  readonly challenge: string | null;
}

export class Codes {
  readonly #codes = new Map<string, Granted>();

  /** Issues a code from the parameters of an authorization request. */
  grant(requested: URLSearchParams, login: string): string {
    const code = randomUUID();
    this.#codes.set(code, {
      clientId: requested.get('client_id') ?? '',
      redirectUri: requested.get('redirect_uri') ?? '',
      login,
      scopes: (requested.get('scope') ?? '').split(/[ ,]+/).filter((scope) => scope !== ''),
      nonce: requested.get('nonce'),
      challenge: requested.get('code_challenge'),
    });
    return code;
  }

  /**
   * Consumes a code.
   * @returns what is wrong, when it is a text
   */
  redeem(form: URLSearchParams, clientId: string | null): Granted | string {
    const code = form.get('code') ?? '';
    const granted = this.#codes.get(code);
    this.#codes.delete(code);
    if (granted === undefined) return 'The code is not known, or was used';
    if (granted.clientId !== clientId) return 'The code is for another client';
    if (granted.redirectUri !== form.get('redirect_uri')) return 'The redirect URL is another one';
    const verifier = form.get('code_verifier');
    const challenge = verifier === null ? null : createHash('sha256').update(verifier).digest('base64url');
    return challenge === granted.challenge ? granted : 'The PKCE verifier is missing or wrong';
  }
}

/** Client id and secret of a token request, from the form or by HTTP Basic (RFC 6749 section 2.3.1). */
export function clientOf(form: URLSearchParams, authorization = ''): { id: string | null; secret: string | null } {
  const [, basic] = /^Basic (.+)$/i.exec(authorization) ?? [];
  if (basic === undefined) return { id: form.get('client_id'), secret: form.get('client_secret') };
  const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString().split(':').map(formDecoded);
  return { id, secret };
}

function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
