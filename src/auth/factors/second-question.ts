/**
 * Asks for the second factor after the first one: refuses a sign-in with a ticket, with which it goes on, so that no client
 * sends the password twice. Not here: what goes on with the ticket (factor-sign-in.ts).
 */
import { hash } from 'node:crypto';
import { MillraceError } from '../../kernel/errors.ts';
import type { Passwords } from '../accounts/passwords.ts';
import type { User } from '../identity/user.ts';
import type { FirstProof, SecondStep } from '../sign-in/second-step.ts';
import { SINGLE_USE_MS, type SingleUse } from '../sign-in/single-use.ts';
import type { SessionOrigin } from '../tokens/session.ts';
import type { Factors } from './factors.ts';

export interface SecondQuestionParts {
  readonly factors: Factors;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly singleUse: SingleUse;
}

export class SecondQuestion implements SecondStep {
  readonly #parts: SecondQuestionParts;

  constructor(parts: SecondQuestionParts) {
    this.#parts = parts;
  }

  stands(user: string): Promise<boolean> {
    return this.#parts.factors.stands(user);
  }

  async question({ _id }: User, proof: FirstProof): Promise<MillraceError> {
    const { passwords, singleUse } = this.#parts;
    const { identity = null, email = null } = proof;
    const facts = { password: await passwordStamp(passwords, _id), identity, email };
    const ticket = await singleUse.make('factor', _id, { facts });
    return new MillraceError('mfa-required', 'Sign in with a code of the second factor, too', {
      hint: 'POST /auth/mfa/login with this ticket and a code of the authenticator, or a recovery code',
      extensions: { ticket, expiresIn: SINGLE_USE_MS.factor / 1_000 },
      headers: { 'www-authenticate': 'Bearer realm="millrace"' },
    });
  }

  prove(user: User, code: string, origin: SessionOrigin): Promise<void> {
    return this.#parts.factors.prove(user, code, origin);
  }
}

/** A text that changes whenever the password is set. */
export async function passwordStamp(passwords: Pick<Passwords, 'mark'>, user: string): Promise<string> {
  return hash('sha256', (await passwords.mark(user)) ?? '', 'base64url');
}
