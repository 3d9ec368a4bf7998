/**
 * Ends a session here and at the provider that opened it (OpenID Connect RP-Initiated Logout 1.0, SAML single logout):
 * the session ends at once, and the browser goes to a URL of the provider. With SAML the provider can start it.
 */
import { actorText } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseIdentityId } from '../identity/provider-identity.ts';
import type { Provider } from '../providers/provider.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ProviderSignInThrottle } from './oauth-throttle.ts';
import type { OpenIdClient } from './openid.ts';
import { providerNotFound, redirectNotAllowed } from './provider-errors.ts';

/** A logout message of a SAML provider. */
export interface SamlLogoutMessage {
  /** Whether it is a request or a response. */
  readonly name: 'SAMLRequest' | 'SAMLResponse';
  readonly text: string;
  readonly relayState: string | null;
  /** The query as it was sent, for a message in a URL; null for a form. */
  readonly query: string | null;
}

/** SAML logout. */
export interface SamlLogOutAdapter {
  logoutUrl(provider: Provider, identity: string, redirect: string, state: string | null): Promise<string | null>;
  /** @returns where the browser goes; null where no one waits for a response */
  receiveLogOut(
    provider: Provider,
    message: SamlLogoutMessage,
    base: string,
    origin: SessionOrigin,
  ): Promise<string | null>;
}

export interface ProviderLogOutDeps {
  readonly sessions: Sessions;
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly openId: () => Promise<OpenIdClient>;
  readonly saml: () => Promise<SamlLogOutAdapter>;
  readonly attempts: ProviderSignInThrottle;
  readonly isAllowedRedirect: (address: string) => boolean;
}

export class ProviderLogOut {
  readonly #deps: ProviderLogOutDeps;

  constructor(deps: ProviderLogOutDeps) {
    this.#deps = deps;
  }

  /**
   * Ends a session.
   * @param account the signed-in user, with the session that ends
   * @param redirect where the provider sends the browser afterwards; it has to be registered there
   * @returns where the browser goes; null where there is no session to end at a provider, or it is unreachable
   * @throws MillraceError `redirect-not-allowed`, before anything has ended
   */
  async end(
    { id, session, kind }: { readonly id: string; readonly session: string; readonly kind: string },
    { redirect, state }: { readonly redirect: string; readonly state: string | null },
    origin: SessionOrigin,
  ): Promise<string | null> {
    const { sessions, isAllowedRedirect } = this.#deps;
    if (!isAllowedRedirect(redirect)) throw redirectNotAllowed();
    const identity = await sessions.identityOf(session);
    await sessions.end(session, id, 'logout', changeStampFromOrigin(origin, actorText(kind, id)));
    return identity === null ? null : this.#providerLogoutUrl(identity, redirect, state);
  }

  /**
   * Handles a logout message of a SAML provider. The sessions of the user that it names end.
   * @param parameters of the form, or of the URL
   * @param query the query of the URL; null for a form
   * @returns where the browser goes
   * @throws MillraceError `provider-not-found`, `provider-response-invalid`, `provider-unavailable`, `rate-limited`
   */
  async receive(
    name: string,
    parameters: URLSearchParams,
    query: string | null,
    { base, origin }: { readonly base: string; readonly origin: SessionOrigin },
  ): Promise<string> {
    const { findProvider, saml, attempts } = this.#deps;
    const provider = await findProvider(name);
    if (provider?.kind !== 'saml' || !provider.enabled) throw providerNotFound(name);
    const kind = parameters.has('SAMLRequest') ? 'SAMLRequest' : 'SAMLResponse';
    const relayState = parameters.get('RelayState');
    const message = { name: kind, text: parameters.get(kind) ?? '', relayState, query } as const;
    const next = await attempts.run(origin, name, async () =>
      (await saml()).receiveLogOut(provider, message, base, origin),
    );
    return next ?? `${base}/signin`;
  }

  async #providerLogoutUrl(identity: string, redirect: string, state: string | null): Promise<string | null> {
    const { findProvider, openId, saml } = this.#deps;
    const provider = await findProvider(parseIdentityId({ id: identity }).provider);
    if (provider?.enabled !== true) return null;
    try {
      if (provider.kind === 'saml') return await (await saml()).logoutUrl(provider, identity, redirect, state);
      if (provider.issuer === null) return null;
      return await (await openId()).logoutUrl(provider, redirect, state);
    } catch (error) {
      // The session has ended, even if the provider is unreachable.
      if (error instanceof MillraceError) return null;
      throw error;
    }
  }
}
