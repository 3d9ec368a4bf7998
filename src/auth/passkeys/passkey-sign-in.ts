/**
 * Signs in with a passkey alone, without a name. A passkey with user verification counts as both factors. With another
 * one, a user with a second factor must prove that too, as after a password.
 */
import { invalidCredentials } from '../identity/auth-errors.ts';
import type { SessionOrigin } from '../sessions/session.ts';
import type { MfaGate } from '../sign-in/mfa-gate.ts';
import type { SignIn, SignInResult } from '../sign-in/sign-in.ts';
import type { Passkeys } from './passkeys.ts';
import type { AuthenticationResponseJSON } from './webauthn.ts';

export interface PasskeySignInDeps {
  readonly passkeys: Passkeys;
  readonly mfaGate: MfaGate;
  readonly signIn: SignIn;
}

export class PasskeySignIn {
  readonly #deps: PasskeySignInDeps;

  constructor(deps: PasskeySignInDeps) {
    this.#deps = deps;
  }

  /** @throws MillraceError `invalid-credentials` for every cause, `mfa-required`, `rate-limited` */
  async signInWithPasskey(credential: AuthenticationResponseJSON, origin: SessionOrigin): Promise<SignInResult> {
    const { passkeys, mfaGate, signIn } = this.#deps;
    const { id, user, isVerified } = await passkeys.verify(credential, null, origin);
    if (user.disabled) throw invalidCredentials();
    if (!isVerified && (await mfaGate.hasFactor(user._id))) throw await mfaGate.challenge(user, {});
    return signIn.openSession(user, origin, {
      isStillValid: async ({ disabled }) => !disabled && (await passkeys.exists(user._id, id)),
    });
  }
}
