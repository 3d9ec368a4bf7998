/**
 * Reads the claims of a user from a provider again when a session that it opened is renewed and its mapping says so
 * (`"when": "renewal"`). Roles that the provider removed are removed here too, and a user that is no longer admitted is
 * signed out. It runs in the background: the renewal does not wait for another server.
 */
import { MillraceError } from '../../lib/errors.ts';
import { parseIdentityId } from '../identity/provider-identity.ts';
import type { Provider } from '../providers/provider.ts';
import type { ProviderTokenVault } from '../providers/provider-tokens.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';
import type { OpenIdClient } from './openid.ts';
import { type ProviderUsers, requireAllowedIdentity } from './provider-users.ts';

/** Minimum interval between requests about one user to a provider, in milliseconds, for all processes together. */
const PAUSE_MS = 60_000;
/** Concurrent refreshes; further ones are left to the next renewal. */
const MAX_RUNNING = 50;

export interface ClaimRenewalsDeps {
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly openId: () => Promise<OpenIdClient>;
  readonly tokens: Pick<ProviderTokenVault, 'find' | 'encrypt' | 'save'>;
  readonly oneTimeTokens: Pick<OneTimeTokens, 'isFirst'>;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly accounts: ProviderUsers;
  /** Called with errors that no response can report. */
  readonly onError: (error: unknown) => void;
}

export class ClaimRenewals {
  readonly #deps: ClaimRenewalsDeps;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: ClaimRenewalsDeps) {
    this.#deps = deps;
  }

  /** Starts a refresh for the user of a renewed session. @param identity that opened the session */
  begin(identity: string, origin: SessionOrigin): void {
    if (this.#running.size >= MAX_RUNNING) return;
    const running = this.#renew(identity, origin)
      .catch(this.#deps.onError)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits until all that started has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #renew(identity: string, origin: SessionOrigin): Promise<void> {
    const { findProvider, tokens, oneTimeTokens, users, accounts, openId } = this.#deps;
    const { provider: name, subject } = parseIdentityId({ id: identity });
    const provider = await findProvider(name);
    if (provider?.mapping.when !== 'renewal' || !provider.enabled) return;
    if (!(await oneTimeTokens.isFirst(`renewal ${identity}`, PAUSE_MS))) return;
    const kept = await tokens.find(identity);
    // Some providers issue a refresh token only for a scope such as `offline_access`.
    if (kept?.refreshToken == null) return;
    try {
      const proof = await (await openId()).renew(provider, subject, kept.refreshToken);
      const encrypted = tokens.encrypt(identity, proof.tokens);
      if (encrypted !== null) await tokens.save(identity, encrypted);
      requireAllowedIdentity(provider, proof);
      const user = await users.byIdentity(identity);
      if (user !== null && !user.disabled) await accounts.reapplyMapping(provider, user, proof, origin);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      if (error.code === 'provider-denied' || error.code === 'provider-account-not-allowed') {
        await this.#signOut(identity, origin);
      } else throw error;
    }
  }

  /** The provider no longer vouches for the user. */
  async #signOut(identity: string, origin: SessionOrigin): Promise<void> {
    const { users, sessions } = this.#deps;
    const user = await users.byIdentity(identity);
    if (user !== null)
      await sessions.endByIdentity(identity, user._id, 'provider-ended', changeStampFromOrigin(origin));
  }
}
