/**
 * Lets owners see what another principal would be answered: who may look so, the principal itself as it is now, and the
 * note of it in the activity. Not here: the header (http/access/looking-as.ts) and live data (realtime/client).
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import { ANONYMOUS, actorOf, type ClientPrincipal } from '../../auth/identity/principal.ts';
import { type Whom, whomText } from '../../auth/identity/whom.ts';
import type { Activity } from '../../database/activity.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../policies.ts';

/** For how long after a note the same session looks as the same principal without another one, in milliseconds. */
const NOTED_MS = 15 * 60_000;
/** Notes that are remembered; the oldest are forgotten first, and then noted again. */
const MAX_NOTED = 10_000;

/** Who asks, and who is answered. A request has these members. */
export interface Viewing {
  /** Whose rights decide the answer. */
  readonly principal: ClientPrincipal;
  /** Who proved its identity: the same, unless an owner looks as another principal. */
  readonly asker: ClientPrincipal;
  /** As whom it looks; null as itself. */
  readonly as: Whom | null;
}

export interface LookingAsParts {
  readonly authenticator: Pick<Authenticator, 'standing'>;
  readonly policies: Policies;
  readonly activity: Pick<Activity, 'record'>;
  readonly mode: Mode;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Noted {
  readonly until: number;
  readonly stored: Promise<void>;
}

export class LookingAs {
  readonly #parts: LookingAsParts;
  readonly #now: () => number;
  readonly #noted = new Map<string, Noted>();

  constructor(parts: LookingAsParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /**
   * Refuses everybody but owners who may read accounts. In development anonymous clients may do what policies let them.
   * Users and keys never look as others, whatever policies say: they would get more than their own rights.
   * @throws MillraceError `not-authenticated` for anonymous, `forbidden` for others, `policies-unavailable`
   */
  require(asker: ClientPrincipal): void {
    const { policies, mode } = this.#parts;
    const isAsked = asker.kind === 'owner' || (asker.kind === 'anonymous' && mode === 'development');
    if (isAsked && policies.find(asker, 'read', 'admin:accounts') !== null) return;
    if (asker.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to look as another principal', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    throw new MillraceError('forbidden', 'Only owners who may read accounts look as another principal');
  }

  /**
   * The principal as it is now, without a session. That of a role is a user with this role alone, without claims; its
   * id is `role:<name>`, which no account has.
   * @throws MillraceError `document-not-found` where no client could come as this principal, and as `require`
   */
  async principal(asker: ClientPrincipal, whom: Whom): Promise<ClientPrincipal> {
    this.require(asker);
    const { kind, id } = whom;
    if (kind === 'anonymous') return ANONYMOUS;
    if (kind === 'role') {
      const expiresAt = Number.MAX_SAFE_INTEGER;
      return { kind: 'user', id: whomText(whom), roles: [id], claims: {}, session: '', expiresAt };
    }
    const found = await this.#parts.authenticator.standing({ kind, id });
    if (found === null) throw nobody(whom);
    return found;
  }

  /**
   * The same for an answer that begins now. The first one of a session for each principal is noted in the activity before
   * it is given, and then one every 15 minutes, counted in this process.
   * @param request id of the request; null over a socket
   */
  async begin(asker: ClientPrincipal, whom: Whom, request: string | null): Promise<ClientPrincipal> {
    const principal = await this.principal(asker, whom);
    await this.#note(asker, whom, request);
    return principal;
  }

  async #note(asker: ClientPrincipal, whom: Whom, request: string | null): Promise<void> {
    const session = 'session' in asker ? asker.session : '';
    const as = whomText(whom);
    const key = `${session} ${as}`;
    const known = this.#noted.get(key);
    if (known !== undefined && known.until > this.#now()) return await known.stored;
    const stored = this.#parts.activity.record('system.auth.looked-as', { as }, { by: actorOf(asker), request });
    // Deleted and set again, so that the map's order is the order of the notes.
    this.#noted.delete(key);
    this.#noted.set(key, { until: this.#now() + NOTED_MS, stored });
    for (const oldest of this.#noted.keys()) {
      if (this.#noted.size <= MAX_NOTED) break;
      this.#noted.delete(oldest);
    }
    try {
      await stored;
    } catch (error) {
      if (this.#noted.get(key)?.stored === stored) this.#noted.delete(key);
      throw error;
    }
  }
}

/** The error for an account or key that is not there, or no client could come with. */
export function nobody({ kind, id }: Whom): MillraceError {
  const what = kind === 'key' ? 'key' : 'account';
  const hint = kind === 'key' ? 'It may have expired' : 'It may be disabled: it could not sign in either';
  return new MillraceError('document-not-found', `There is no ${what} '${id}' to look as`, { hint });
}
