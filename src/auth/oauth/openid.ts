/**
 * The adapter of `openid-client`, loaded with the first sign-in: the authorization URL, and what the returned code
 * proves. It serves all kinds, because GitHub and Facebook use the same OAuth 2 without id tokens. Every call to a
 * provider goes through the checks of outgoing calls.
 */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  type ExportedJWKSCache,
  enableNonRepudiationChecks,
  fetchUserInfo,
  getJwksCache,
  type IDToken,
  None,
  ResponseBodyError,
  refreshTokenGrant,
  type ServerMetadata,
  setJwksCache,
  type TokenEndpointResponse,
} from 'openid-client';
import { stripTrailingSlash } from '../../config/addresses.ts';
import type { Egress } from '../../egress/egress.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { type Provider, usesDiscovery } from '../providers/provider.ts';
import type { ProviderTokenSet } from '../providers/provider-tokens.ts';
import { accessTokenHash, appleName, idTokenLacksClaims } from './additional-claims.ts';
import { appleSecret } from './apple-secret.ts';
import { fetchOAuthUser } from './github-facebook-userinfo.ts';
import { toProviderError } from './openid-client-errors.ts';
import { type AuthorizationRequest, type AuthorizationSecrets, sha256Base64url } from './pending-provider-sign-in.ts';
import { providerDenied, providerResponseInvalid } from './provider-errors.ts';
import { usesFormPost } from './state-cookie.ts';
import { readEmailClaim, type VerifiedSignIn } from './verified-identity.ts';

/** How long metadata of a provider is cached. */
const METADATA_MS = 15 * 60_000;
/** Minimum age of cached keys, in seconds, before a token with an unknown key reads them again. */
const KEYS_AGE_S = 60;
/** Maximum age of an id token, in seconds: some providers date theirs minutes back; and how far ahead their clocks may be. */
const MAX_AGE_S = 15 * 60;
const MAX_AHEAD_S = 60;

/** Signatures that the provider's public keys verify. The holder of a shared secret could forge a token. */
const ASYMMETRIC = /^(?:[RPE]S(?:256|384|512)|EdDSA|Ed25519)$/;
const ALL_ASYMMETRIC = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

interface Known {
  readonly server: ServerMetadata;
  /** When it was read, in milliseconds since 1970. */
  readonly at: number;
  /** The provider's keys; null until a token was verified. */
  keys: ExportedJWKSCache | null;
}

export class OpenIdClient {
  readonly #egress: Pick<Egress, 'fetch' | 'checkUrl'>;
  readonly #now: () => number;
  /** Cached data of each provider, dropped with its version. */
  readonly #known = new WeakMap<Provider, Known>();

  readonly #request: CustomFetch = (url, { body, ...options }) =>
    this.#egress.fetch(url, { ...options, ...(body === undefined ? {} : { body }) });

  constructor(egress: Pick<Egress, 'fetch' | 'checkUrl'>, now: () => number = Date.now) {
    this.#egress = egress;
    this.#now = now;
  }

  /**
   * The URL at which a sign-in with a provider starts.
   * @throws MillraceError `provider-unavailable`, `provider-response-invalid`
   */
  async address(provider: Provider, state: string, flow: AuthorizationRequest & AuthorizationSecrets): Promise<string> {
    try {
      const url = buildAuthorizationUrl(this.#configure(provider, await this.#cachedMetadata(provider)), {
        redirect_uri: flow.callback,
        scope: provider.scopes.join(' '),
        state,
        ...(provider.pkce ? { code_challenge: sha256Base64url(flow.verifier), code_challenge_method: 'S256' } : {}),
        ...(provider.issuer === null ? {} : { nonce: flow.nonce }),
        ...(usesFormPost(provider) ? { response_mode: 'form_post' } : {}),
      });
      const issue = this.#egress.checkUrl(url.href);
      if (issue !== null)
        throw providerResponseInvalid(provider.name, `the URL of its authorization endpoint ${issue}`);
      return url.href;
    } catch (error) {
      throw toProviderError(error, provider);
    }
  }

  /**
   * Exchanges the code of a response, and verifies all that it returns.
   * @param response the parameters that the browser brought from the provider
   * @throws MillraceError `provider-denied`, `provider-unavailable`, `provider-response-invalid`
   */
  async verifyResponse(
    provider: Provider,
    flow: AuthorizationRequest & AuthorizationSecrets,
    state: string,
    response: URLSearchParams,
  ): Promise<VerifiedSignIn> {
    try {
      const known = await this.#cachedMetadata(provider);
      const config = this.#configure(provider, known);
      const url = new URL(flow.callback);
      url.search = response.toString();
      const isOpenId = provider.issuer !== null;
      const checks = {
        expectedState: state,
        ...(provider.pkce ? { pkceCodeVerifier: flow.verifier } : {}),
        ...(isOpenId ? { expectedNonce: flow.nonce, idTokenExpected: true } : {}),
      };
      if (provider.nonce === 'optional') {
        // The library reads its expectations after the response came, so the nonce of a token without one is not
        // required.
        config[customFetch] = async (...request) => {
          const response = await this.#request(...request);
          if (await lacksNonce(response.clone())) delete checks.expectedNonce;
          return response;
        };
      }
      const tokens = await authorizationCodeGrant(config, url, checks);
      const kept = this.#tokensOf(tokens);
      if (!isOpenId) return { ...(await fetchOAuthUser(provider, config, tokens.access_token)), tokens: kept };
      known.keys = getJwksCache(config) ?? null;
      const idToken = tokens.claims();
      if (idToken === undefined) throw providerResponseInvalid(provider.name, 'there is no id token');
      this.#check(provider, idToken, tokens);
      const more =
        known.server.userinfo_endpoint !== undefined && idTokenLacksClaims(provider, idToken)
          ? await fetchUserInfo(config, tokens.access_token, idToken.sub)
          : {};
      const claims = { ...more, ...appleName(provider, response), ...idToken };
      return { subject: idToken.sub, claims, email: readEmailClaim(claims), tokens: kept };
    } catch (error) {
      throw toProviderError(error, provider);
    }
  }

  #tokensOf(response: TokenEndpointResponse): ProviderTokenSet {
    const { access_token: accessToken, refresh_token, id_token, expires_in } = response;
    const expiresAt = expires_in === undefined ? null : this.#now() + expires_in * 1_000;
    return { accessToken, refreshToken: refresh_token ?? null, idToken: id_token ?? null, expiresAt };
  }

  /**
   * Reads the claims of a user again.
   * @param subject of the user; another one is rejected
   * @throws MillraceError `provider-denied` when the refresh token is no longer valid, `provider-unavailable`,
   * `provider-response-invalid`
   */
  async renew(provider: Provider, subject: string, refreshToken: string): Promise<VerifiedSignIn> {
    try {
      const known = await this.#cachedMetadata(provider);
      const config = this.#configure(provider, known);
      const tokens = await refreshTokenGrant(config, refreshToken);
      known.keys = getJwksCache(config) ?? null;
      const idToken = tokens.claims();
      if (idToken !== undefined) this.#check(provider, idToken, tokens);
      if (idToken !== undefined && idToken.sub !== subject) {
        throw providerResponseInvalid(provider.name, 'the id token is about another user');
      }
      const more =
        idToken === undefined || (known.server.userinfo_endpoint !== undefined && idTokenLacksClaims(provider, idToken))
          ? await fetchUserInfo(config, tokens.access_token, subject)
          : {};
      const claims = { ...more, ...idToken };
      const kept = this.#tokensOf(tokens);
      const renewed = { ...kept, refreshToken: kept.refreshToken ?? refreshToken };
      return { subject, claims, email: readEmailClaim(claims), tokens: renewed };
    } catch (error) {
      if (error instanceof ResponseBodyError && error.error === 'invalid_grant') {
        throw providerDenied(provider.name, error.error);
      }
      throw toProviderError(error, provider);
    }
  }

  /**
   * The URL that ends the browser's session at a provider; null where there is none. It contains no token: a provider
   * may confirm with its user.
   * @throws MillraceError `provider-unavailable`, `provider-response-invalid`
   */
  async logoutUrl(provider: Provider, redirect: string, state: string | null): Promise<string | null> {
    try {
      const known = await this.#cachedMetadata(provider);
      const { end_session_endpoint: endpoint } = known.server;
      if (endpoint === undefined || this.#egress.checkUrl(endpoint) !== null) return null;
      return buildEndSessionUrl(this.#configure(provider, known), {
        post_logout_redirect_uri: redirect,
        ...(state === null ? {} : { state }),
      }).href;
    } catch (error) {
      throw toProviderError(error, provider);
    }
  }

  /** The rest of OpenID Connect Core 1.0 section 3.1.3.7, which the library leaves to its caller. */
  #check({ name, clientId }: Provider, { azp, iat, at_hash: hashed }: IDToken, tokens: TokenEndpointResponse): void {
    if (hashed !== undefined && hashed !== accessTokenHash(tokens.access_token, tokens.id_token)) {
      throw providerResponseInvalid(name, 'the id token was issued for another access token (at_hash)');
    }
    if (azp !== undefined && azp !== clientId)
      throw providerResponseInvalid(name, 'the id token was issued for another party (azp)');
    const age = this.#now() / 1_000 - iat;
    if (age > MAX_AGE_S || age < -MAX_AHEAD_S)
      throw providerResponseInvalid(name, `the id token is ${Math.round(age)} s old (iat)`);
  }

  async #cachedMetadata(provider: Provider): Promise<Known> {
    const before = this.#known.get(provider);
    if (before !== undefined && this.#now() - before.at < METADATA_MS) return before;
    const known = { server: await this.#read(provider), at: this.#now(), keys: before?.keys ?? null };
    this.#known.set(provider, known);
    return known;
  }

  /** Metadata of a provider (OpenID Connect Discovery 1.0), with the endpoints that replace discovered ones. */
  async #read(provider: Provider): Promise<ServerMetadata> {
    const { issuer, endpoints, clientId, name } = provider;
    const { authorization, token, userinfo, jwks } = endpoints;
    const discovered: ServerMetadata =
      issuer === null || !usesDiscovery(provider)
        ? { issuer: issuer ?? new URL(authorization ?? '').origin }
        : (
            await discovery(new URL(issuer), clientId, undefined, undefined, {
              [customFetch]: this.#request,
              execute: [allowInsecureRequests],
            })
          ).serverMetadata();
    if (issuer !== null && stripTrailingSlash(discovered.issuer) !== stripTrailingSlash(issuer)) {
      throw providerResponseInvalid(name, 'its discovery document has another issuer');
    }
    return {
      ...discovered,
      ...(authorization === undefined ? {} : { authorization_endpoint: authorization }),
      ...(token === undefined ? {} : { token_endpoint: token }),
      ...(userinfo === undefined ? {} : { userinfo_endpoint: userinfo }),
      ...(jwks === undefined ? {} : { jwks_uri: jwks }),
      id_token_signing_alg_values_supported: asymmetric(discovered),
    };
  }

  /**
   * Created for each use: the library keeps keys as long as the object, and reads them again at most once a minute, so
   * that a provider which just began to sign with another key could not be used until then.
   */
  #configure(provider: Provider, { server, keys }: Known): Configuration {
    const config = new Configuration(server, provider.clientId, {}, this.#clientAuth(provider, server));
    config[customFetch] = this.#request;
    // The checks of outgoing calls decide which URL may be called over http.
    allowInsecureRequests(config);
    if (provider.issuer !== null) enableNonRepudiationChecks(config);
    if (keys !== null) {
      const latest = Math.floor(Date.now() / 1_000) - KEYS_AGE_S;
      setJwksCache(config, { ...keys, uat: Math.min(keys.uat, latest) });
    }
    return config;
  }

  /** Client authentication (OpenID Connect Core 1.0 section 9). */
  #clientAuth({ apple, clientId, clientSecret, issuer }: Provider, server: ServerMetadata): ClientAuth {
    if (apple !== null) {
      return (...request) => ClientSecretPost(appleSecret(apple, clientId, server.issuer, this.#now()))(...request);
    }
    if (clientSecret === null) return None();
    const fallback = issuer === null ? 'client_secret_post' : 'client_secret_basic';
    const methods = server.token_endpoint_auth_methods_supported ?? [fallback];
    return methods.includes('client_secret_post') ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret);
  }
}

function asymmetric({ id_token_signing_alg_values_supported: named }: ServerMetadata): string[] {
  return named === undefined ? ALL_ASYMMETRIC : named.filter((algorithm) => ASYMMETRIC.test(algorithm));
}

/** Whether a response of a token endpoint has an id token without a nonce. Nothing of it is verified yet. */
async function lacksNonce(response: Response): Promise<boolean> {
  const body: unknown = await response.json().catch(() => null);
  const token = isPlainObject(body) ? body['id_token'] : undefined;
  const [, payload = ''] = typeof token === 'string' ? token.split('.') : [];
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isPlainObject(claims) && !('nonce' in claims);
  } catch {
    return false;
  }
}
