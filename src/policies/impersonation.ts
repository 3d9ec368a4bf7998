/**
 * Impersonation: lets administrators see responses as another principal. Decides who may, reads the principal as it is
 * now, and records the use in the activity.
 */
import type { Authenticator } from '../auth/authenticator.ts';
import { formatImpersonationTarget, type ImpersonationTarget } from '../auth/identity/parse-impersonation-target.ts';
import { ANONYMOUS, type RequestPrincipal, toActorId } from '../auth/identity/principal.ts';
import type { ServerMode } from '../config/config.ts';
import type { AuditEvents } from '../database/audit-only-events.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Policies } from './policies.ts';

/** How long a session may impersonate the same principal without another record, in milliseconds. */
const NOTED_MS = 15 * 60_000;
/** Maximum records in memory; the oldest are dropped first, and then recorded again. */
const MAX_NOTED = 10_000;

/** The authenticated and the effective principal. A request has these fields. */
export interface RequestPrincipals {
  /** The effective principal, whose rights apply. */
  readonly principal: RequestPrincipal;
  /** The authenticated principal: the same, unless an administrator impersonates another one. */
  readonly asker: RequestPrincipal;
  /** The impersonated principal; null for none. */
  readonly as: ImpersonationTarget | null;
}

export interface ImpersonationDeps {
  readonly authenticator: Pick<Authenticator, 'principalFor'>;
  readonly policies: Policies;
  readonly activity: Pick<AuditEvents, 'record'>;
  readonly mode: ServerMode;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

interface Noted {
  readonly until: number;
  readonly stored: Promise<void>;
}

export class ImpersonationService {
  readonly #deps: ImpersonationDeps;
  readonly #now: () => number;
  readonly #noted = new Map<string, Noted>();

  constructor(deps: ImpersonationDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /**
   * Rejects everyone except administrators who may read users. In development anonymous clients may do what policies
   * allow. Users and keys never impersonate others, whatever policies say: they would get more than their own rights.
   * @throws MillraceError `not-authenticated` for anonymous, `forbidden` for others, `policies-unavailable`
   */
  require(asker: RequestPrincipal): void {
    const { policies, mode } = this.#deps;
    const isRequested = asker.kind === 'admin' || (asker.kind === 'anonymous' && mode === 'development');
    if (isRequested && policies.find(asker, 'read', '_admin:accounts') !== null) return;
    if (asker.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to impersonate another principal', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    throw new MillraceError('forbidden', 'Only administrators with access to users can impersonate other principals');
  }

  /**
   * The principal as it is now, without a session. That of a role is a user with this role alone, without claims; its
   * id is `role:<name>`, which no user has.
   * @throws MillraceError `document-not-found` where no client could authenticate as this principal, and as `require`
   */
  async principal(asker: RequestPrincipal, target: ImpersonationTarget): Promise<RequestPrincipal> {
    this.require(asker);
    const { kind, id } = target;
    if (kind === 'anonymous') return ANONYMOUS;
    if (kind === 'role') {
      const expiresAt = Number.MAX_SAFE_INTEGER;
      return { kind: 'user', id: formatImpersonationTarget(target), roles: [id], claims: {}, session: '', expiresAt };
    }
    const found = await this.#deps.authenticator.principalFor({ kind, id });
    if (found === null) throw impersonationTargetNotFound(target);
    return found;
  }

  /**
   * The same for a response that begins now. The first one of a session for each principal is recorded in the activity
   * before it is sent, and then one every 15 minutes, counted in this process.
   * @param request id of the request; null over a socket
   */
  async begin(asker: RequestPrincipal, target: ImpersonationTarget, request: string | null): Promise<RequestPrincipal> {
    const principal = await this.principal(asker, target);
    await this.#note(asker, target, request);
    return principal;
  }

  async #note(asker: RequestPrincipal, target: ImpersonationTarget, request: string | null): Promise<void> {
    const session = 'session' in asker ? asker.session : '';
    const as = formatImpersonationTarget(target);
    const key = `${session} ${as}`;
    const known = this.#noted.get(key);
    if (known !== undefined && known.until > this.#now()) return await known.stored;
    const stored = this.#deps.activity.record('system.auth.impersonated', { as }, { by: toActorId(asker), request });
    // Deleted and set again, so that the map's order is the order of the records.
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

/** The error for a user or key that does not exist, or with which no client could authenticate. */
export function impersonationTargetNotFound({ kind, id }: ImpersonationTarget): MillraceError {
  const [what, code] = kind === 'key' ? (['key', 'api-key-not-found'] as const) : (['user', 'user-not-found'] as const);
  const hint = kind === 'key' ? 'It may have expired' : 'It may be disabled: it could not sign in either';
  return new MillraceError(code, `There is no ${what} '${id}' to impersonate`, { hint });
}
