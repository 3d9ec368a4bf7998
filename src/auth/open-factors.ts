/** Creates the services of second factors and passkeys, and the sign-ins with them. */
import { MfaChallenge } from './mfa/challenge.ts';
import { FactorSignIn } from './mfa/factor-sign-in.ts';
import type { FactorStore } from './mfa/factor-store.ts';
import { Factors, type FactorsDeps } from './mfa/totp-factor.ts';
import { PasskeySignIn } from './passkeys/passkey-sign-in.ts';
import type { PasskeyStore } from './passkeys/passkey-store.ts';
import { Passkeys } from './passkeys/passkeys.ts';
import type { Passwords } from './passwords/passwords.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { OneTimeTokens } from './tokens/one-time-tokens.ts';

export interface FactorDeps extends Omit<FactorsDeps, 'store'> {
  readonly factorStore: FactorStore;
  readonly passkeyStore: PasskeyStore;
  readonly passwords: Passwords;
  readonly oneTimeTokens: OneTimeTokens;
}

/** The services of second factors and passkeys. */
export interface SignInByFactors {
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly factorSignIn: FactorSignIn;
  readonly passkeySignIn: PasskeySignIn;
}

/** @param signInWith creates the sign-in, which requires the second step */
export function openFactors(
  { factorStore, passkeyStore, passwords, oneTimeTokens, ...parts }: FactorDeps,
  signInWith: (mfaGate: MfaChallenge) => SignIn,
): SignInByFactors & { readonly signIn: SignIn; readonly mfaGate: MfaChallenge } {
  const { users } = parts;
  const factors = new Factors({ ...parts, store: factorStore });
  const passkeys = new Passkeys({ ...parts, store: passkeyStore, oneTimeTokens });
  const mfaGate = new MfaChallenge({ factors, passwords, oneTimeTokens });
  const signIn = signInWith(mfaGate);
  const factorSignIn = new FactorSignIn({ factors, passkeys, users, passwords, oneTimeTokens, signIn });
  const passkeySignIn = new PasskeySignIn({ passkeys, mfaGate, signIn });
  return { factors, passkeys, mfaGate, signIn, factorSignIn, passkeySignIn };
}
