/**
 * Ending a session here and at the provider that it was opened by (OpenID Connect RP-Initiated Logout 1.0): the session ends
 * at once, and the browser goes to an address of the provider. Not here: HTTP (http/identity-routes.ts).
 */
import { actorText } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { identityParts } from '../identity/provider-identity.ts';
import type { Provider } from '../providers/provider.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { OpenId } from './openid.ts';
import { redirectNotAllowed } from './provider-refusal.ts';

export interface ProviderLogOutParts {
  readonly sessions: Sessions;
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly openId: () => Promise<OpenId>;
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

  async #address(identity: string, redirect: string, state: string | null): Promise<string | null> {
    const { findProvider, openId } = this.#parts;
    const provider = await findProvider(identityParts({ id: identity }).provider);
    if (provider?.issuer == null || !provider.enabled) return null;
    try {
      return await (await openId()).logOutAddress(provider, redirect, state);
    } catch (error) {
      // The session has ended; that the provider cannot be asked changes nothing about it.
      if (error instanceof MillraceError) return null;
      throw error;
    }
  }
}
