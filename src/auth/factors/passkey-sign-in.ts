/**
 * Signs in by a passkey alone, without a name. A passkey whose authenticator checked its holder stands for both factors. With
 * one that did not, an account with a second factor is asked for it, as after a password. Not here: the check of the passkey
 * (passkeys.ts).
 */
import { signInFailed } from '../identity/refusals.ts';
import type { SecondStep } from '../sign-in/second-step.ts';
import type { SignedIn, SignIn } from '../sign-in/sign-in.ts';
import type { SessionOrigin } from '../tokens/session.ts';
import type { Passkeys } from './passkeys.ts';
import type { AuthenticationResponseJSON } from './webauthn.ts';

export interface PasskeySignInParts {
  readonly passkeys: Passkeys;
  readonly secondStep: SecondStep;
  readonly signIn: SignIn;
}

export class PasskeySignIn {
  readonly #parts: PasskeySignInParts;

  constructor(parts: PasskeySignInParts) {
    this.#parts = parts;
  }

  /** @throws MillraceError `sign-in-failed` for every cause, `mfa-required`, `rate-limited` */
  async enter(credential: AuthenticationResponseJSON, origin: SessionOrigin): Promise<SignedIn> {
    const { passkeys, secondStep, signIn } = this.#parts;
    const { id, user, isVerified } = await passkeys.prove(credential, null, origin);
    if (user.disabled) throw signInFailed();
    if (!isVerified && (await secondStep.stands(user._id))) throw await secondStep.question(user, {});
    return signIn.welcome(user, origin, {
      holds: async ({ disabled }) => !disabled && (await passkeys.stands(user._id, id)),
    });
  }
}
