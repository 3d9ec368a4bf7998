/** The interface between sign-in and second factors, so that sign-in does not depend on how a factor is verified. */
import type { MillraceError } from '../../lib/errors.ts';
import type { User } from '../identity/user.ts';
import type { SessionOrigin } from '../sessions/session.ts';

/** The identity that a provider verified, or the e-mail address that an e-mail verified; neither for a password. */
export interface FirstFactorProof {
  readonly identity?: string;
  readonly email?: string;
}

export interface MfaGate {
  /** Whether a user has an active second factor. */
  hasFactor(user: string): Promise<boolean>;
  /**
   * The error of a sign-in without a code. It contains a ticket to complete the sign-in.
   * @param proof of the first factor, other than the password
   */
  challenge(user: User, proof: FirstFactorProof): Promise<MillraceError>;
  /**
   * Verifies a code of the authenticator, or a recovery code, and uses it up.
   * @throws MillraceError `invalid-credentials`, `rate-limited`
   */
  verifyCode(user: User, code: string, origin: SessionOrigin): Promise<void>;
}
