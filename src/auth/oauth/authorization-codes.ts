/**
 * The one-time codes at the end of sign-ins with a provider. A code works once, for a minute, and only with the
 * verifier of the client that started the sign-in (RFC 7636): an attacker who reads it in a URL cannot use it.
 */
import { actorText } from '../../database/system-collection.ts';
import { invalidToken } from '../identity/auth-errors.ts';
import type { User } from '../identity/user.ts';
import type { Provider } from '../providers/provider.ts';
import type { ProviderTokenVault } from '../providers/provider-tokens.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { MfaGate } from '../sign-in/mfa-gate.ts';
import type { SignIn, SignInResult } from '../sign-in/sign-in.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Identities, IdentityView } from '../users/identities.ts';
import type { Users } from '../users/users.ts';
import type { ProviderSignInThrottle } from './oauth-throttle.ts';
import {
  type AuthorizationCodeData,
  matchesPkceChallenge,
  parseAuthorizationCodeData,
} from './pending-provider-sign-in.ts';
import { userDisabled } from './provider-users.ts';

/** A code that signs in, or one that links an identity to a signed-in user. */
type Purpose = 'code' | 'link-code';

export interface AuthorizationCodesDeps {
  /** The provider with this name, enabled or not. */
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly users: Users;
  readonly identities: Identities;
  readonly signIn: SignIn;
  readonly mfaGate: MfaGate;
  readonly oneTimeTokens: OneTimeTokens;
  readonly attempts: ProviderSignInThrottle;
  readonly tokens: Pick<ProviderTokenVault, 'save'>;
}

interface Redeemed {
  readonly user: string;
  readonly identity: string;
  readonly keep: () => Promise<void>;
}

export class AuthorizationCodes {
  readonly #deps: AuthorizationCodesDeps;

  constructor(deps: AuthorizationCodesDeps) {
    this.#deps = deps;
  }

  make(purpose: Purpose, user: string, outcome: AuthorizationCodeData): Promise<string> {
    return this.#deps.oneTimeTokens.make(purpose, user, { facts: outcome });
  }

  /**
   * Exchanges a code for a session.
   * @param verifier the client's own, whose hash started the sign-in; a wrong one uses the code up
   * @throws MillraceError `invalid-token`, `invalid-credentials` for a disabled user, `mfa-required`, `rate-limited`
   */
  exchange(code: string, verifier: string, origin: SessionOrigin): Promise<SignInResult> {
    const { attempts, users, signIn, mfaGate } = this.#deps;
    return attempts.run(origin, null, async () => {
      const { user: account, identity, keep } = await this.#redeem('code', code, verifier);
      // It may have been unlinked from the user since, or linked to another one.
      const user = await users.byIdentity(identity);
      if (user?._id !== account) throw invalidToken();
      if (user.disabled) throw userDisabled();
      if (await mfaGate.hasFactor(account)) {
        // The provider issues its tokens only once.
        await keep();
        throw await mfaGate.challenge(user, { identity });
      }
      const holds = ({ disabled, identities = [] }: User) => !disabled && identities.some(({ id }) => id === identity);
      const signedIn = await signIn.openSession(user, origin, { isStillValid: holds, identity });
      await keep();
      return signedIn;
    });
  }

  /**
   * Links the identity of a completed sign-in to its signed-in user. The user must confirm it with the verifier, so no
   * attacker can let another person's browser link that person's identity to the attacker's user.
   * @throws MillraceError `invalid-token`, `identity-taken`, `identity-exists`, `rate-limited`
   */
  join(user: User, session: string, code: string, verifier: string, origin: SessionOrigin): Promise<IdentityView> {
    const { attempts, identities } = this.#deps;
    return attempts.run(origin, null, async () => {
      const { user: account, identity, keep } = await this.#redeem('link-code', code, verifier);
      if (account !== user._id) throw invalidToken();
      const linked = await identities.join(
        user._id,
        identity,
        session,
        changeStampFromOrigin(origin, actorText(user.kind, user._id)),
      );
      await keep();
      return linked;
    });
  }

  /** Uses a code up: its user and identity, and what stores the tokens of the provider. */
  async #redeem(purpose: Purpose, code: string, verifier: string): Promise<Redeemed> {
    const taken = await this.#deps.oneTimeTokens.take(purpose, code);
    const outcome = parseAuthorizationCodeData(taken?.facts);
    if (taken?.subject == null || outcome === null) throw invalidToken();
    const provider = await this.#deps.findProvider(outcome.provider);
    if (provider?.enabled !== true || !matchesPkceChallenge(outcome.challenge, verifier)) throw invalidToken();
    const { identity, tokens } = outcome;
    const keep = async () => {
      if (tokens !== undefined && provider.storeTokens) await this.#deps.tokens.save(identity, tokens);
    };
    return { user: taken.subject, identity, keep };
  }
}
