/** Creates the parts of second factors and passkeys, and what signs in by them. Not here: their stores, which open-auth.ts starts. */
import type { Passwords } from './accounts/passwords.ts';
import { FactorSignIn } from './factors/factor-sign-in.ts';
import type { FactorStore } from './factors/factor-store.ts';
import { Factors, type FactorsParts } from './factors/factors.ts';
import { PasskeySignIn } from './factors/passkey-sign-in.ts';
import type { PasskeyStore } from './factors/passkey-store.ts';
import { Passkeys } from './factors/passkeys.ts';
import { SecondQuestion } from './factors/second-question.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { SingleUse } from './sign-in/single-use.ts';

export interface FactorNeeds extends Omit<FactorsParts, 'store'> {
  readonly factorStore: FactorStore;
  readonly passkeyStore: PasskeyStore;
  readonly passwords: Passwords;
  readonly singleUse: SingleUse;
}

/** What has to do with second factors and passkeys. */
export interface SignInByFactors {
  readonly factors: Factors;
  readonly passkeys: Passkeys;
  readonly factorSignIn: FactorSignIn;
  readonly passkeySignIn: PasskeySignIn;
}

/** @param signInWith makes the sign-in, which asks for the second step */
export function openFactors(
  { factorStore, passkeyStore, passwords, singleUse, ...parts }: FactorNeeds,
  signInWith: (secondStep: SecondQuestion) => SignIn,
): SignInByFactors & { readonly signIn: SignIn; readonly secondStep: SecondQuestion } {
  const { users } = parts;
  const factors = new Factors({ ...parts, store: factorStore });
  const passkeys = new Passkeys({ ...parts, store: passkeyStore, singleUse });
  const secondStep = new SecondQuestion({ factors, passwords, singleUse });
  const signIn = signInWith(secondStep);
  const factorSignIn = new FactorSignIn({ factors, passkeys, users, passwords, singleUse, signIn });
  const passkeySignIn = new PasskeySignIn({ passkeys, secondStep, signIn });
  return { factors, passkeys, secondStep, signIn, factorSignIn, passkeySignIn };
}
