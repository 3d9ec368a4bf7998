/**
 * Answers who may do what, with a Scope or a refusal. Until the owner's policies are stored there are three answers:
 * owners pass by their roles, in development mode everything is open to all others, in production mode nothing is.
 */
import type { Principal } from '../auth/principal.ts';
import type { CollectionName } from '../database/names.ts';
import type { Mode } from '../kernel/config.ts';
import { MillraceError } from '../kernel/errors.ts';
import { ownerMay } from './owners.ts';
import { type Action, type Scope, unlimited } from './scope.ts';

/**
 * What a policy speaks of: a collection of documents, the files, the events of everything, or the running of it all, of
 * which the accounts, keys and settings are for few.
 */
export type Place = CollectionName | 'files' | 'functions' | 'events' | 'admin' | 'admin:accounts';

export class Policies {
  readonly #mode: Mode;
  readonly #listeners = new Set<() => void>();

  constructor(mode: Mode) {
    this.#mode = mode;
  }

  /**
   * The Scope of one request.
   * @throws MillraceError `not-authenticated` for anonymous, `forbidden` for others
   */
  scope(principal: Principal, action: Action, place: Place): Scope {
    const scope = this.find(principal, action, place);
    if (scope) return scope;
    if (principal.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to use this server', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    throw new MillraceError('forbidden', `No policy allows ${action} in '${place}'`);
  }

  /** The same for what an answer may do without: null where no policy allows it. */
  find(principal: Principal, action: Action, place: Place): Scope | null {
    if (principal.kind === 'owner') return ownerMay(principal, action, place) ? unlimited(principal, action) : null;
    return this.#mode === 'development' ? unlimited(principal, action) : null;
  }

  /**
   * Tells in every process, within a second, that the policies are others than before: Scopes have to be asked for anew.
   * @returns ends the telling
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
