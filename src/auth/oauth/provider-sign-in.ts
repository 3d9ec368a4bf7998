/**
 * Sign-in with a provider (RFC 6749 section 4.1 with RFC 7636, OpenID Connect Core 1.0 section 3.1). It starts with one
 * request, which creates its `state`, and ends with another, which checks that and may reach another process. It ends
 * at a redirect URL of the list with a one-time code, so that no token is ever in a URL.
 */
import { randomBytes } from 'node:crypto';
import { cookieScopeOf } from '../../lib/cookie-scope.ts';
import { MillraceError } from '../../lib/errors.ts';
import { callbackUrl, type Provider } from '../providers/provider.ts';
import type { ProviderTokenVault } from '../providers/provider-tokens.ts';
import type { SessionOrigin } from '../sessions/session.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { AuthorizationCodes } from './authorization-codes.ts';
import { addQueryParameters, type BrowserRedirect, clientRedirectUrl, redirectOnError } from './client-redirect.ts';
import type { ProviderSignInThrottle } from './oauth-throttle.ts';
import type { OpenIdClient } from './openid.ts';
import {
  type AuthorizationCodeData,
  type AuthorizationRequest,
  type AuthorizationSecrets,
  deriveAuthorizationSecrets,
  invalidParameter,
  matchesSha256,
  type ProviderSignInRequest,
  parseStoredAuthorizationRequest,
  requirePkceChallenge,
  sha256Base64url,
} from './pending-provider-sign-in.ts';
import { providerNotFound, redirectNotAllowed } from './provider-errors.ts';
import { type ProviderUsers, requireAllowedIdentity } from './provider-users.ts';
import type { ProviderRedirect, SamlSignInAdapter } from './saml-sign-in-adapter.ts';
import {
  clearStateCookie,
  readStateCookie,
  type StateCookieOptions,
  setStateCookies,
  usesFormPost,
} from './state-cookie.ts';

const MAX_CLIENT_STATE = 512;
/** The hosted sign-in page. */
export const SIGN_IN_PAGE_PATH = '/signin';
/** Hosted pages at which a sign-in may always end. In both, only a script of this server reads the code. */
const OWN_PAGES = [SIGN_IN_PAGE_PATH, '/dashboard'] as const;

export interface ProviderRegistry {
  /**
   * The provider of this name, enabled or not, even if it is new to this process.
   * @param version an expected version: the provider is read again when this process has another one
   */
  find(name: string, version?: string): Promise<Provider | undefined>;
  enabled(): readonly Provider[];
}

export interface ProviderSignInDeps {
  readonly registry: ProviderRegistry;
  /** Whether an administrator lists a redirect URL. */
  readonly isAllowedRedirect: (address: string) => boolean;
  /** Loaded on first use. */
  readonly openId: () => Promise<OpenIdClient>;
  /** Loaded on first use. */
  readonly saml: () => Promise<SamlSignInAdapter>;
  readonly users: ProviderUsers;
  readonly codes: AuthorizationCodes;
  readonly oneTimeTokens: OneTimeTokens;
  readonly attempts: ProviderSignInThrottle;
  readonly tokens: Pick<ProviderTokenVault, 'encrypt'>;
}

/** The request of the browser in a sign-in. */
export interface BrowserRequest {
  /** The public URL of this server, without a slash at the end. */
  readonly base: string;
  readonly cookies: string | undefined;
  readonly origin: SessionOrigin;
}

export class ProviderSignIn {
  readonly #deps: ProviderSignInDeps;

  constructor(deps: ProviderSignInDeps) {
    this.#deps = deps;
  }

  /** The available providers. */
  listAvailable(): readonly Provider[] {
    return this.#deps.registry.enabled();
  }

  /**
   * Starts a sign-in. Once the redirect URL is known to be on the list, it receives errors.
   * @throws MillraceError `provider-not-found`, `redirect-not-allowed`, `invalid-parameter`
   */
  async begin(
    name: string,
    request: ProviderSignInRequest,
    { base, cookies }: BrowserRequest,
  ): Promise<BrowserRedirect> {
    const provider = await this.#find(name);
    const redirect = this.#allowed(request.redirect, base);
    const clientState = request.state;
    if (clientState !== null && clientState.length > MAX_CLIENT_STATE) {
      throw invalidParameter(`'state' has at most ${MAX_CLIENT_STATE} characters`);
    }
    return redirectOnError(redirect, clientState, async () => {
      const challenge = requirePkceChallenge(request);
      const joins = request.linkTicket === null ? null : await this.#linkingUser(request.linkTicket, name, challenge);
      const secret = random();
      const flow: AuthorizationRequest = {
        provider: name,
        version: provider.version,
        redirect,
        clientState,
        challenge,
        callback: callbackUrl(base, provider),
        browser: sha256Base64url(secret),
        joins,
      };
      const state = await this.#deps.oneTimeTokens.make('flow', null, { facts: flow });
      const onward = await this.#redirectToProvider(provider, state, {
        ...flow,
        ...deriveAuthorizationSecrets(secret),
      });
      return { ...onward, cookies: setStateCookies(state, secret, cookies, stateCookieOptions(provider, base)) };
    });
  }

  /**
   * Ends a sign-in with the response that the browser brings from the provider.
   * @param isSaml whether it came to the SAML endpoint
   * @throws MillraceError `sign-in-expired` when its redirect URL is unknown, `provider-not-found`
   */
  async finish(
    name: string,
    response: URLSearchParams,
    { base, cookies, origin }: BrowserRequest,
    isSaml = false,
  ): Promise<BrowserRedirect> {
    const { oneTimeTokens, attempts } = this.#deps;
    const known = await this.#find(name);
    if ((known.kind === 'saml') !== isSaml) throw unusable(`'${name}' does not send responses to this URL`);
    const options = stateCookieOptions(known, base);
    const [state = '', second] = response.getAll(isSaml ? 'RelayState' : 'state');
    const secret = readStateCookie(state, cookies, options);
    if (secret === null && known.saml?.allowIdpInitiated === true)
      return this.#handleIdpInitiated(known, response, base, origin);
    if (secret === null || second !== undefined) {
      throw unusable('This browser did not start the sign-in, or does not accept cookies of this server');
    }
    const flow = parseStoredAuthorizationRequest((await oneTimeTokens.take('flow', state))?.facts);
    if (flow === null || !matchesSha256(flow.browser, secret) || flow.provider !== name) {
      throw unusable('The sign-in was used, or took longer than ten minutes');
    }
    const { location } = await redirectOnError(flow.redirect, flow.clientState, async () => {
      const provider = await this.#find(name, flow.version);
      if (flow.version !== provider.version) throw unusable(`'${name}' was changed in the meantime`);
      const proven = { ...flow, ...deriveAuthorizationSecrets(secret) };
      const code = await attempts.run(origin, name, () =>
        this.#verifyResponse(provider, proven, state, response, origin),
      );
      return { location: clientRedirectUrl(flow.redirect, { code, state: flow.clientState }), cookies: [] };
    });
    return { location, cookies: [clearStateCookie(state, options)] };
  }

  /**
   * Prepares to link an identity to its signed-in user.
   * @returns the URL that the user's browser has to open
   * @throws MillraceError `provider-not-found`, `redirect-not-allowed`
   */
  async beginLink(
    user: string,
    name: string,
    {
      redirect,
      challenge,
      state,
    }: { readonly redirect: string; readonly challenge: string; readonly state: string | null },
    base: string,
  ): Promise<string> {
    await this.#find(name);
    const facts = { provider: name, challenge };
    const parameters = {
      redirect: this.#allowed(redirect, base),
      code_challenge: challenge,
      code_challenge_method: 'S256',
    };
    const ticket = await this.#deps.oneTimeTokens.make('link-identity', user, { facts });
    return addQueryParameters(`${base}/auth/providers/${name}`, { ...parameters, state, link_ticket: ticket });
  }

  /**
   * Our own metadata for a SAML provider.
   * @throws MillraceError `provider-not-found`
   */
  async metadata(name: string, base: string): Promise<string> {
    const provider = await this.#find(name);
    if (provider.kind !== 'saml') throw providerNotFound(name);
    return (await this.#deps.saml()).metadata(provider, base);
  }

  /**
   * Ends a sign-in that started at a SAML provider: the response has to be valid, but signs no one in, because an
   * attacker may have planted it to sign the user in as the attacker. The browser starts a new sign-in, which the
   * provider completes at once.
   */
  async #handleIdpInitiated(
    provider: Provider,
    response: URLSearchParams,
    base: string,
    origin: SessionOrigin,
  ): Promise<BrowserRedirect> {
    const { saml, attempts, isAllowedRedirect } = this.#deps;
    const message = response.get('SAMLResponse') ?? '';
    await attempts.run(origin, provider.name, async () =>
      requireAllowedIdentity(
        provider,
        await (await saml()).verifyResponse(provider, callbackUrl(base, provider), null, message),
      ),
    );
    const relayState = response.get('RelayState') ?? '';
    const url = isAllowedRedirect(relayState) ? relayState : `${base}${SIGN_IN_PAGE_PATH}`;
    return { location: addQueryParameters(url, { provider: provider.name }), cookies: [] };
  }

  async #redirectToProvider(
    provider: Provider,
    state: string,
    flow: AuthorizationRequest & AuthorizationSecrets,
  ): Promise<ProviderRedirect> {
    const { openId, saml } = this.#deps;
    if (provider.kind === 'saml') return (await saml()).begin(provider, state, flow);
    return { location: await (await openId()).address(provider, state, flow) };
  }

  /** Verifies the response of a provider, and creates the one-time code. */
  async #verifyResponse(
    provider: Provider,
    flow: AuthorizationRequest & AuthorizationSecrets,
    state: string,
    response: URLSearchParams,
    origin: SessionOrigin,
  ): Promise<string> {
    const { openId, saml, users, codes } = this.#deps;
    const signedIn =
      provider.kind === 'saml' ? null : await (await openId()).verifyResponse(provider, flow, state, response);
    const proof =
      signedIn ??
      (await (await saml()).verifyResponse(provider, flow.callback, flow, response.get('SAMLResponse') ?? ''));
    const identity = requireAllowedIdentity(provider, proof);
    const encrypted = provider.storeTokens && signedIn ? this.#deps.tokens.encrypt(identity, signedIn.tokens) : null;
    const kept = encrypted === null ? {} : { tokens: encrypted };
    const outcome: AuthorizationCodeData = { provider: provider.name, identity, challenge: flow.challenge, ...kept };
    if (flow.joins !== null) return codes.make('link-code', flow.joins, outcome);
    const { _id: user } = await users.findOrCreateUser(provider, proof, origin);
    return codes.make('code', user, outcome);
  }

  /** The user of a ticket for linking. */
  async #linkingUser(ticket: string, name: string, challenge: string): Promise<string> {
    const taken = await this.#deps.oneTimeTokens.take('link-identity', ticket);
    const { provider, challenge: expected } = taken?.facts ?? {};
    if (taken?.subject == null || provider !== name || expected !== challenge) {
      throw unusable('The URL works once, for five minutes');
    }
    return taken.subject;
  }

  async #find(name: string, version?: string): Promise<Provider> {
    const provider = await this.#deps.registry.find(name, version);
    if (provider?.enabled === true) return provider;
    throw providerNotFound(name);
  }

  #allowed(redirect: string | null, base: string): string {
    if (redirect === null) throw invalidParameter("'redirect' is missing: the URL to which the sign-in redirects");
    if (OWN_PAGES.some((page) => redirect === `${base}${page}`)) return redirect;
    if (this.#deps.isAllowedRedirect(redirect)) return redirect;
    throw redirectNotAllowed();
  }
}

function stateCookieOptions(provider: Provider, base: string): StateCookieOptions {
  return { ...cookieScopeOf(base), posted: usesFormPost(provider) };
}

function random(): string {
  return randomBytes(32).toString('base64url');
}

function unusable(message: string): MillraceError {
  return new MillraceError('sign-in-expired', message, { hint: 'Start the sign-in again' });
}
