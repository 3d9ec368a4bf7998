/**
 * The one-time codes that flows end with. A code works once, for a minute, and only together with the verifier of the client
 * that began the flow (RFC 7636): whoever reads it in an address cannot use it. Not here: the flows (provider-sign-in.ts).
 */
import { actorText } from '../../database/system-collection.ts';
import type { Identities, ShownIdentity } from '../accounts/identities.ts';
import type { Users } from '../accounts/users.ts';
import { invalidCredential } from '../identity/refusals.ts';
import type { User } from '../identity/user.ts';
import type { KeptTokens } from '../providers/kept-tokens.ts';
import type { Provider } from '../providers/provider.ts';
import type { SecondStep } from '../sign-in/second-step.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import { isVerifierOf, type Outcome, readOutcome } from './flow.ts';
import { accountDisabled } from './provider-accounts.ts';
import type { ProviderAttempts } from './provider-attempts.ts';

/** A code that signs in, or one that joins an identity to the account of a signed-in user. */
type Purpose = 'code' | 'join-code';

export interface OneTimeCodesParts {
  /** The provider of a name, enabled or not. */
  readonly findProvider: (name: string) => Promise<Provider | undefined>;
  readonly users: Users;
  readonly identities: Identities;
  readonly signIn: SignIn;
  readonly secondStep: SecondStep;
  readonly singleUse: SingleUse;
  readonly attempts: ProviderAttempts;
  readonly tokens: Pick<KeptTokens, 'save'>;
}

interface Redeemed {
  readonly account: string;
  readonly identity: string;
  readonly keep: () => Promise<void>;
}

export class OneTimeCodes {
  readonly #parts: OneTimeCodesParts;

  constructor(parts: OneTimeCodesParts) {
    this.#parts = parts;
  }

  make(purpose: Purpose, account: string, outcome: Outcome): Promise<string> {
    return this.#parts.singleUse.make(purpose, account, { facts: outcome });
  }

  /**
   * Exchanges a code for a session.
   * @param verifier the client's own, whose hash began the flow; a wrong one uses the code up
   * @throws MillraceError `invalid-credential`, `sign-in-failed` for a disabled account, `mfa-required`, `rate-limited`
   */
  exchange(code: string, verifier: string, origin: SessionOrigin): Promise<SignedIn> {
    const { attempts, users, signIn, secondStep } = this.#parts;
    return attempts.run(origin, null, async () => {
      const { account, identity, keep } = await this.#redeem('code', code, verifier);
      // It may have been removed from the account since, or joined to another one.
      const user = await users.byIdentity(identity);
      if (user?._id !== account) throw invalidCredential();
      if (user.disabled) throw accountDisabled();
      if (await secondStep.stands(account)) {
        // What the provider gave with its proof comes only once.
        await keep();
        throw await secondStep.question(user, { identity });
      }
      const holds = ({ disabled, identities = [] }: User) => !disabled && identities.some(({ id }) => id === identity);
      const signedIn = await signIn.welcome(user, origin, { holds, identity });
      await keep();
      return signedIn;
    });
  }

  /**
   * Joins the identity that a flow proved to the account of its signed-in user. The user has to confirm it with the
   * verifier, so nobody can let another person's browser join that person's identity to an account of their own.
   * @throws MillraceError `invalid-credential`, `identity-taken`, `identity-exists`, `rate-limited`
   */
  join(user: User, session: string, code: string, verifier: string, origin: SessionOrigin): Promise<ShownIdentity> {
    const { attempts, identities } = this.#parts;
    return attempts.run(origin, null, async () => {
      const { account, identity, keep } = await this.#redeem('join-code', code, verifier);
      if (account !== user._id) throw invalidCredential();
      const joined = await identities.join(
        user._id,
        identity,
        session,
        stampOf(origin, actorText(user.kind, user._id)),
      );
      await keep();
      return joined;
    });
  }

  /** Uses a code up: the account and the identity that it stands for, and what keeps the tokens of the provider. */
  async #redeem(purpose: Purpose, code: string, verifier: string): Promise<Redeemed> {
    const taken = await this.#parts.singleUse.take(purpose, code);
    const outcome = readOutcome(taken?.facts);
    if (taken?.subject == null || outcome === null) throw invalidCredential();
    const provider = await this.#parts.findProvider(outcome.provider);
    if (provider?.enabled !== true || !isVerifierOf(outcome.challenge, verifier)) throw invalidCredential();
    const { identity, tokens } = outcome;
    const keep = async () => {
      if (tokens !== undefined && provider.keepTokens) await this.#parts.tokens.save(identity, tokens);
    };
    return { account: taken.subject, identity, keep };
  }
}
