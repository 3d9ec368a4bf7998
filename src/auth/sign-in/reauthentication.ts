/**
 * Reauthentication: what weakens a user, or the instance, requires a session whose holder was authenticated recently.
 * So an unlocked device or a stolen token is not enough. API keys and anonymous clients are exempt: they have no
 * session, and their rights have other bounds.
 */
import { MillraceError } from '../../lib/errors.ts';
import type { Principal } from '../identity/principal.ts';
import type { Sessions } from '../sessions/sessions.ts';

/** How long after its proof a session is fresh. */
const REAUTHENTICATION_MS = 15 * 60_000;

export class Reauthentication {
  readonly #sessions: Pick<Sessions, 'verifiedAt'>;
  readonly #now: () => number;

  constructor(sessions: Pick<Sessions, 'verifiedAt'>, now: () => number) {
    this.#sessions = sessions;
    this.#now = now;
  }

  /** @throws MillraceError `reauthentication-required` */
  async require(principal: Principal): Promise<void> {
    if (principal.kind !== 'user' && principal.kind !== 'admin') return;
    if (this.#now() - (await this.#sessions.verifiedAt(principal.session)) < REAUTHENTICATION_MS) return;
    throw new MillraceError('reauthentication-required', 'This requires a sign-in within the last 15 minutes', {
      hint: 'Sign in again, or send POST /auth/reauthenticate with the password or a code of the second factor',
    });
  }
}
