/**
 * Asks a provider again for the claims of a user when a session that it opened is renewed and its mapping says so
 * (`"when": "renewal"`). Roles that the provider took away are taken away here too, and a user that is no longer admitted
 * is signed out. It runs in the background: the renewal does not wait for another server. Not here: renewing sessions
 * (tokens/sessions.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import type { Users } from '../accounts/users.ts';
import { identityParts } from '../identity/provider-identity.ts';
import type { KeptTokens } from '../providers/kept-tokens.ts';
import type { Provider } from '../providers/provider.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { OpenId } from './openid.ts';
import { admittedIdentity, type ProviderAccounts } from './provider-accounts.ts';

/** A provider is asked about one user at most once in this time, in milliseconds, by all processes together. */
const PAUSE_MS = 60_000;
/** Renewals under way at a time; what comes beyond is left to the next renewal. */
const MAX_RUNNING = 50;

export interface ClaimRenewalsParts {
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly openId: () => Promise<OpenId>;
  readonly tokens: Pick<KeptTokens, 'find' | 'seal' | 'save'>;
  readonly singleUse: Pick<SingleUse, 'isFirst'>;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly accounts: ProviderAccounts;
  /** Called with errors that no answer can report. */
  readonly onError: (error: unknown) => void;
}

export class ClaimRenewals {
  readonly #parts: ClaimRenewalsParts;
  readonly #running = new Set<Promise<void>>();

  constructor(parts: ClaimRenewalsParts) {
    this.#parts = parts;
  }

  /** Begins to ask about the user of a session that is renewed. @param identity that the session was opened by */
  begin(identity: string, origin: SessionOrigin): void {
    if (this.#running.size >= MAX_RUNNING) return;
    const running = this.#renew(identity, origin)
      .catch(this.#parts.onError)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Waits until all that began has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #renew(identity: string, origin: SessionOrigin): Promise<void> {
    const { findProvider, tokens, singleUse, users, accounts, openId } = this.#parts;
    const { provider: name, subject } = identityParts({ id: identity });
    const provider = await findProvider(name);
    if (provider?.mapping.when !== 'renewal' || !provider.enabled) return;
    if (!(await singleUse.isFirst(`renewal ${identity}`, PAUSE_MS))) return;
    const kept = await tokens.find(identity);
    // Some providers give a refresh token only when a scope such as `offline_access` asks for one.
    if (kept?.refreshToken == null) return;
    try {
      const proof = await (await openId()).renew(provider, subject, kept.refreshToken);
      const sealed = tokens.seal(identity, proof.tokens);
      if (sealed !== null) await tokens.save(identity, sealed);
      admittedIdentity(provider, proof);
      const user = await users.byIdentity(identity);
      if (user !== null && !user.disabled) await accounts.mapAgain(provider, user, proof, origin);
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      if (error.code === 'provider-denied' || error.code === 'provider-account-refused') {
        await this.#signOut(identity, origin);
      } else throw error;
    }
  }

  /** The provider does not vouch for the user any more. */
  async #signOut(identity: string, origin: SessionOrigin): Promise<void> {
    const { users, sessions } = this.#parts;
    const user = await users.byIdentity(identity);
    if (user !== null) await sessions.endOpenedBy(identity, user._id, 'provider-ended', stampOf(origin));
  }
}
