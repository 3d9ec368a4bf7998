/**
 * Turns the proof that a request carries into its principal, and tells when one made earlier is no longer as it was.
 * Not here: where on a request the proof stands (http/authentication.ts), and what the principal may do.
 */
import { MillraceError } from '../kernel/errors.ts';
import type { Principal } from './principal.ts';

/** Whether a principal made earlier is still as it was. */
export type Still = (principal: Principal) => boolean;

export class Authenticator {
  readonly #listeners = new Set<(still: Still) => void>();

  /**
   * The principal of a credential.
   * @param _authorization the whole value of the header, `Bearer …`
   * @throws MillraceError `invalid-credential`, at once or as a rejection
   */
  authenticate(_authorization: string): Principal | Promise<Principal> {
    // No credential can be valid yet: there are neither accounts nor keys.
    throw invalidCredential();
  }

  /**
   * The principal of a ticket, which is used up by this.
   * @throws MillraceError `invalid-credential`
   */
  async redeemTicket(_ticket: string): Promise<Principal> {
    throw invalidCredential();
  }

  /**
   * Calls `listener` in every process within a second after sessions, users, roles or keys changed; returns how to
   * stop that.
   */
  onRevoked(listener: (still: Still) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** The one answer to every credential that is present but bad (RFC 6750 section 3.1). */
export function invalidCredential(cause?: unknown): MillraceError {
  return new MillraceError('invalid-credential', 'The credential is not valid', {
    headers: { 'www-authenticate': 'Bearer realm="millrace", error="invalid_token"' },
    cause,
  });
}
