/**
 * What signing in asks of second factors. Interfaces alone, so that what signs in does not know how a factor is proved. Not
 * here: the factors (factors/).
 */
import type { MillraceError } from '../../kernel/errors.ts';
import type { User } from '../identity/user.ts';
import type { SessionOrigin } from '../tokens/session.ts';

/** The identity that a provider proved, or the address that a letter proved; neither for a password. */
export interface FirstProof {
  readonly identity?: string;
  readonly email?: string;
}

export interface SecondStep {
  /** Whether an account has a second factor in force. */
  stands(user: string): Promise<boolean>;
  /**
   * The refusal of a sign-in without a code. It holds a ticket, with which the sign-in goes on.
   * @param proof what proved the first factor, other than the password
   */
  question(user: User, proof: FirstProof): Promise<MillraceError>;
  /**
   * Checks a code: of the authenticator, or a recovery code. It is used up.
   * @throws MillraceError `sign-in-failed`, `rate-limited`
   */
  prove(user: User, code: string, origin: SessionOrigin): Promise<void>;
}
