/**
 * A fresh sign-in: what weakens an account, or the installation, wants a session whose holder was proved a short time ago.
 * Who finds a device unlocked, or steals a token, so cannot do it. API keys and anonymous clients are never asked: they have
 * no session, and what they may do is bounded otherwise. Not here: which routes want it.
 */
import { MillraceError } from '../../kernel/errors.ts';
import type { Principal } from '../identity/principal.ts';
import type { Sessions } from '../tokens/sessions.ts';

/** How long after its proof a session is fresh. */
const FRESH_MS = 15 * 60_000;

export class FreshSignIns {
  readonly #sessions: Pick<Sessions, 'provedAt'>;
  readonly #now: () => number;

  constructor(sessions: Pick<Sessions, 'provedAt'>, now: () => number) {
    this.#sessions = sessions;
    this.#now = now;
  }

  /** @throws MillraceError `fresh-sign-in-required` */
  async require(principal: Principal): Promise<void> {
    if (principal.kind !== 'user' && principal.kind !== 'owner') return;
    if (this.#now() - (await this.#sessions.provedAt(principal.session)) < FRESH_MS) return;
    throw new MillraceError('fresh-sign-in-required', 'This needs a sign-in that is not older than 15 minutes', {
      hint: 'Sign in again, or send POST /auth/fresh with the password or a code of the second factor',
    });
  }
}
