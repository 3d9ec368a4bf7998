/**
 * Ending a session here and at the provider that it was opened by (OpenID Connect RP-Initiated Logout 1.0, single logout of
 * SAML): the session ends at once, and the browser goes to an address of the provider. With SAML the provider can begin. Not here: HTTP (http/identity-routes.ts).
 */
import { actorText } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { identityParts } from '../identity/provider-identity.ts';
import type { Provider } from '../providers/provider.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { OpenId } from './openid.ts';
import type { ProviderAttempts } from './provider-attempts.ts';
import { missingProvider, redirectNotAllowed } from './provider-refusal.ts';

/** A message of a SAML provider about logging out. */
export interface LogOutMessage {
  /** Whether the provider asks or answers. */
  readonly name: 'SAMLRequest' | 'SAMLResponse';
  readonly text: string;
  readonly relayState: string | null;
  /** The query as it was sent, where the message came in an address; null for a form. */
  readonly query: string | null;
}

/** Logging out by SAML. */
export interface SamlLogOutMessages {
  logOutAddress(provider: Provider, identity: string, redirect: string, state: string | null): Promise<string | null>;
  /** @returns where the browser goes; null where nobody waits for an answer */
  receiveLogOut(
    provider: Provider,
    message: LogOutMessage,
    base: string,
    origin: SessionOrigin,
  ): Promise<string | null>;
}

export interface ProviderLogOutParts {
  readonly sessions: Sessions;
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly openId: () => Promise<OpenId>;
  readonly saml: () => Promise<SamlLogOutMessages>;
  readonly attempts: ProviderAttempts;
  readonly isAllowedRedirect: (address: string) => boolean;
}

export class ProviderLogOut {
  readonly #parts: ProviderLogOutParts;

  constructor(parts: ProviderLogOutParts) {
    this.#parts = parts;
  }

  /**
   * Ends a session.
   * @param account the signed-in account, with the session that ends
   * @param redirect where the provider sends the browser afterwards; it has to be registered there
   * @returns where the browser goes; null where there is nothing to end at a provider, or it cannot be asked
   * @throws MillraceError `redirect-not-allowed`, before anything has ended
   */
  async end(
    { id, session, kind }: { readonly id: string; readonly session: string; readonly kind: string },
    { redirect, state }: { readonly redirect: string; readonly state: string | null },
    origin: SessionOrigin,
  ): Promise<string | null> {
    const { sessions, isAllowedRedirect } = this.#parts;
    if (!isAllowedRedirect(redirect)) throw redirectNotAllowed();
    const identity = await sessions.identityOf(session);
    await sessions.end(session, id, 'logout', stampOf(origin, actorText(kind, id)));
    return identity === null ? null : this.#address(identity, redirect, state);
  }

  /**
   * Takes a message of a SAML provider about logging out. The sessions of the user that it names end.
   * @param parameters of the form, or of the address
   * @param query the text of the address; null for a form
   * @returns where the browser goes
   * @throws MillraceError `provider-not-found`, `provider-answer-refused`, `provider-unavailable`, `rate-limited`
   */
  async receive(
    name: string,
    parameters: URLSearchParams,
    query: string | null,
    { base, origin }: { readonly base: string; readonly origin: SessionOrigin },
  ): Promise<string> {
    const { findProvider, saml, attempts } = this.#parts;
    const provider = await findProvider(name);
    if (provider?.kind !== 'saml' || !provider.enabled) throw missingProvider(name);
    const kind = parameters.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse';
    const relayState = parameters.get('RelayState');
    const message = { name: kind, text: parameters.get(kind) ?? '', relayState, query } as const;
    const next = await attempts.run(origin, name, async () =>
      (await saml()).receiveLogOut(provider, message, base, origin),
    );
    return next ?? `${base}/signin`;
  }

  async #address(identity: string, redirect: string, state: string | null): Promise<string | null> {
    const { findProvider, openId, saml } = this.#parts;
    const provider = await findProvider(identityParts({ id: identity }).provider);
    if (provider?.enabled !== true) return null;
    try {
      if (provider.kind === 'saml') return await (await saml()).logOutAddress(provider, identity, redirect, state);
      if (provider.issuer === null) return null;
      return await (await openId()).logOutAddress(provider, redirect, state);
    } catch (error) {
      // The session has ended; that the provider cannot be asked changes nothing about it.
      if (error instanceof MillraceError) return null;
      throw error;
    }
  }
}
