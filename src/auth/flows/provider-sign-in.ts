/**
 * Signing in by a provider (RFC 6749 section 4.1 with RFC 7636, OpenID Connect Core 1.0 section 3.1). A flow begins at one
 * request, which makes its `state`, and ends at another, which checks that and may reach another process. It ends at an
 * address of the owner's list with a one-time code, so that no token is ever in an address. Not here: HTTP
 * (http/flow-routes.ts), the protocol (openid.ts), accounts (provider-accounts.ts), the exchange of the code
 * (one-time-codes.ts).
 */
import { randomBytes } from 'node:crypto';
import { cookieScopeOf } from '../../kernel/cookie-scope.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { KeptTokens } from '../providers/kept-tokens.ts';
import { callbackAddress, type Provider } from '../providers/provider.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import type { SessionOrigin } from '../tokens/session.ts';
import { CHALLENGE, type Flow, type FlowProofs, hashOf, isHashOf, type Outcome, proofsOf, readFlow } from './flow.ts';
import { beginCookies, type CookieTerms, endCookie, flowSecret, isPosted } from './flow-cookie.ts';
import { ending, endOf, type Step, withParameters } from './flow-end.ts';
import type { OneTimeCodes } from './one-time-codes.ts';
import type { OpenId } from './openid.ts';
import type { ProvedUser } from './proved-user.ts';
import { admittedIdentity, type ProviderAccounts } from './provider-accounts.ts';
import type { ProviderAttempts } from './provider-attempts.ts';
import { missingProvider, redirectNotAllowed } from './provider-refusal.ts';

const MAX_CLIENT_STATE = 512;
/** Our own page to sign in at. */
export const SIGN_IN_PATH = '/signin';
/** Pages of our own, at which a sign-in may always end. Both take the code by a script of this server alone. */
const OWN_PAGES = [SIGN_IN_PATH, '/dashboard'] as const;

export interface ProviderBook {
  /**
   * The provider of this name, enabled or not, also when this process has not been told yet that there is one.
   * @param version one that there was or is: it is looked for again when this process knows another one
   */
  find(name: string, version?: string): Promise<Provider | undefined>;
  enabled(): readonly Provider[];
}

/** Where the browser goes to sign in at a provider, and what it posts there. */
export type Onward = Pick<Step, 'location' | 'form'>;

/** Signing in by SAML, which has other messages than OAuth has. */
export interface SamlMessages {
  begin(provider: Provider, relayState: string, flow: Flow & FlowProofs): Promise<Onward>;
  /** @param flow null where the sign-in began at the provider @param recipient where the answer was taken */
  prove(provider: Provider, recipient: string, flow: FlowProofs | null, message: string): Promise<ProvedUser>;
  metadata(provider: Provider, base: string): string;
}

export interface ProviderSignInParts {
  readonly book: ProviderBook;
  /** Whether an owner lists an address. */
  readonly isAllowedRedirect: (address: string) => boolean;
  /** Loaded when it is first asked for. */
  readonly openId: () => Promise<OpenId>;
  /** Loaded when it is first asked for. */
  readonly saml: () => Promise<SamlMessages>;
  readonly accounts: ProviderAccounts;
  readonly codes: OneTimeCodes;
  readonly singleUse: SingleUse;
  readonly attempts: ProviderAttempts;
  readonly tokens: Pick<KeptTokens, 'seal'>;
}

/** What the browser sent with a request of a flow. */
export interface BrowserRequest {
  /** Where people reach this server, without a slash at the end. */
  readonly base: string;
  readonly cookies: string | undefined;
  readonly origin: SessionOrigin;
}

/** What a client asks a flow to do. */
export interface FlowRequest {
  readonly redirect: string | null;
  readonly challenge: string | null;
  readonly method: string | null;
  /** What the client wants to get back with the answer. */
  readonly state: string | null;
  /** A ticket of {@link ProviderSignIn.beginJoin}; null for a sign-in. */
  readonly join: string | null;
}

export class ProviderSignIn {
  readonly #parts: ProviderSignInParts;

  constructor(parts: ProviderSignInParts) {
    this.#parts = parts;
  }

  /** The providers that one can sign in by. */
  usable(): readonly Provider[] {
    return this.#parts.book.enabled();
  }

  /**
   * Begins a flow. Once the redirect is known to be on the list, refusals end there.
   * @throws MillraceError `provider-not-found`, `redirect-not-allowed`, `invalid-parameter`
   */
  async begin(name: string, wish: FlowRequest, { base, cookies }: BrowserRequest): Promise<Step> {
    const provider = await this.#find(name);
    const redirect = this.#allowed(wish.redirect, base);
    const clientState = wish.state;
    if (clientState !== null && clientState.length > MAX_CLIENT_STATE) {
      throw wrongParameter(`'state' has at most ${MAX_CLIENT_STATE} characters`);
    }
    return ending(redirect, clientState, async () => {
      const challenge = challengeOf(wish);
      const joins = wish.join === null ? null : await this.#joining(wish.join, name, challenge);
      const secret = random();
      const flow: Flow = {
        provider: name,
        version: provider.version,
        redirect,
        clientState,
        challenge,
        callback: callbackAddress(base, provider),
        browser: hashOf(secret),
        joins,
      };
      const state = await this.#parts.singleUse.make('flow', null, { facts: flow });
      const onward = await this.#onward(provider, state, { ...flow, ...proofsOf(secret) });
      return { ...onward, cookies: beginCookies(state, secret, cookies, termsOf(provider, base)) };
    });
  }

  /**
   * Ends a flow with the answer that the browser brings from the provider.
   * @param isSaml whether it was brought to the place of SAML
   * @throws MillraceError `flow-unusable` when it is not known where it would end, `provider-not-found`
   */
  async finish(
    name: string,
    answer: URLSearchParams,
    { base, cookies, origin }: BrowserRequest,
    isSaml = false,
  ): Promise<Step> {
    const { singleUse, attempts } = this.#parts;
    const known = await this.#find(name);
    if ((known.kind === 'saml') !== isSaml) throw unusable(`'${name}' does not answer here`);
    const terms = termsOf(known, base);
    const [state = '', second] = answer.getAll(isSaml ? 'RelayState' : 'state');
    const secret = flowSecret(state, cookies, terms);
    if (secret === null && known.saml?.allowIdpInitiated === true) return this.#arrive(known, answer, base, origin);
    if (secret === null || second !== undefined) {
      throw unusable('This browser did not begin the sign-in, or does not keep cookies of this server');
    }
    const flow = readFlow((await singleUse.take('flow', state))?.facts);
    if (flow === null || !isHashOf(flow.browser, secret) || flow.provider !== name) {
      throw unusable('The sign-in was used, or took longer than ten minutes');
    }
    const { location } = await ending(flow.redirect, flow.clientState, async () => {
      const provider = await this.#find(name, flow.version);
      if (flow.version !== provider.version) throw unusable(`'${name}' was changed meanwhile`);
      const proven = { ...flow, ...proofsOf(secret) };
      const code = await attempts.run(origin, name, () => this.#prove(provider, proven, state, answer, origin));
      return { location: endOf(flow.redirect, { code, state: flow.clientState }), cookies: [] };
    });
    return { location, cookies: [endCookie(state, terms)] };
  }

  /**
   * Prepares a flow that joins an identity to an account, for its signed-in user.
   * @returns the address that the user's browser has to open
   * @throws MillraceError `provider-not-found`, `redirect-not-allowed`
   */
  async beginJoin(
    user: string,
    name: string,
    wish: { readonly redirect: string; readonly challenge: string; readonly state: string | null },
    base: string,
  ): Promise<string> {
    await this.#find(name);
    const redirect = this.#allowed(wish.redirect, base);
    const facts = { provider: name, challenge: wish.challenge };
    const join = await this.#parts.singleUse.make('join', user, { facts });
    return withParameters(`${base}/auth/${name}`, {
      redirect,
      code_challenge: wish.challenge,
      code_challenge_method: 'S256',
      state: wish.state,
      join,
    });
  }

  /**
   * Our own metadata for a provider of SAML.
   * @throws MillraceError `provider-not-found`
   */
  async metadata(name: string, base: string): Promise<string> {
    const provider = await this.#find(name);
    if (provider.kind !== 'saml') throw missingProvider(name);
    return (await this.#parts.saml()).metadata(provider, base);
  }

  /**
   * Ends what began at a provider of SAML: the answer has to be good, and signs nobody in, because it may be the answer of a
   * stranger, who wants to be this user's. The browser goes where a sign-in begins, which the provider then answers at once.
   */
  async #arrive(provider: Provider, answer: URLSearchParams, base: string, origin: SessionOrigin): Promise<Step> {
    const { saml, attempts, isAllowedRedirect } = this.#parts;
    const message = answer.get('SAMLResponse') ?? '';
    await attempts.run(origin, provider.name, async () =>
      admittedIdentity(provider, await (await saml()).prove(provider, callbackAddress(base, provider), null, message)),
    );
    const wish = answer.get('RelayState') ?? '';
    const place = isAllowedRedirect(wish) ? wish : `${base}${SIGN_IN_PATH}`;
    return { location: withParameters(place, { provider: provider.name }), cookies: [] };
  }

  async #onward(provider: Provider, state: string, flow: Flow & FlowProofs): Promise<Onward> {
    const { openId, saml } = this.#parts;
    if (provider.kind === 'saml') return (await saml()).begin(provider, state, flow);
    return { location: await (await openId()).address(provider, state, flow) };
  }

  /** Verifies the answer of a provider; the one-time code for what it proves. */
  async #prove(
    provider: Provider,
    flow: Flow & FlowProofs,
    state: string,
    answer: URLSearchParams,
    origin: SessionOrigin,
  ): Promise<string> {
    const { openId, saml, accounts, codes } = this.#parts;
    const signedIn = provider.kind === 'saml' ? null : await (await openId()).prove(provider, flow, state, answer);
    const proof =
      signedIn ?? (await (await saml()).prove(provider, flow.callback, flow, answer.get('SAMLResponse') ?? ''));
    const identity = admittedIdentity(provider, proof);
    const sealed = provider.keepTokens && signedIn ? this.#parts.tokens.seal(identity, signedIn.tokens) : null;
    const kept = sealed === null ? {} : { tokens: sealed };
    const outcome: Outcome = { provider: provider.name, identity, challenge: flow.challenge, ...kept };
    if (flow.joins !== null) return codes.make('join-code', flow.joins, outcome);
    const { _id: account } = await accounts.enter(provider, proof, origin);
    return codes.make('code', account, outcome);
  }

  /** The account that a ticket for joining was made for. */
  async #joining(ticket: string, name: string, challenge: string): Promise<string> {
    const taken = await this.#parts.singleUse.take('join', ticket);
    const { provider, challenge: expected } = taken?.facts ?? {};
    if (taken?.subject == null || provider !== name || expected !== challenge) {
      throw unusable('The address works once, for five minutes');
    }
    return taken.subject;
  }

  async #find(name: string, version?: string): Promise<Provider> {
    const provider = await this.#parts.book.find(name, version);
    if (provider?.enabled === true) return provider;
    throw missingProvider(name);
  }

  #allowed(redirect: string | null, base: string): string {
    if (redirect === null) throw wrongParameter("'redirect' is missing: the address where the sign-in ends");
    if (OWN_PAGES.some((page) => redirect === `${base}${page}`)) return redirect;
    if (this.#parts.isAllowedRedirect(redirect)) return redirect;
    throw redirectNotAllowed();
  }
}

function challengeOf({ challenge, method }: FlowRequest): string {
  if (method !== 'S256') throw wrongParameter("'code_challenge_method' must be S256");
  if (challenge !== null && CHALLENGE.test(challenge)) return challenge;
  throw wrongParameter("'code_challenge' must be the SHA-256 of the verifier, in base64url (RFC 7636)");
}

function termsOf(provider: Provider, base: string): CookieTerms {
  return { ...cookieScopeOf(base), posted: isPosted(provider) };
}

function random(): string {
  return randomBytes(32).toString('base64url');
}

function unusable(message: string): MillraceError {
  return new MillraceError('flow-unusable', message, { hint: 'Begin the sign-in again' });
}

function wrongParameter(message: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter ${message}`);
}
