/** The identities of a user: linking, listing and unlinking them, but never the last way to sign in. */
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import { type ProviderIdentity, parseIdentityId } from '../identity/provider-identity.ts';
import type { User } from '../identity/user.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { ProviderTokenVault } from '../providers/provider-tokens.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { UserStore } from './user-store.ts';

export interface IdentityView {
  readonly provider: string;
  readonly subject: string;
  readonly linkedAt: string;
}

export interface IdentitiesDeps {
  readonly store: UserStore;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly activity: AuditEvents;
  readonly tokens: Pick<ProviderTokenVault, 'forget'>;
  readonly sessions: Pick<Sessions, 'confirmOpen'>;
  readonly now: () => number;
}

export class Identities {
  readonly #deps: IdentitiesDeps;

  constructor(deps: IdentitiesDeps) {
    this.#deps = deps;
  }

  /**
   * Links an identity to a user.
   * @param id of the identity
   * @param session the session that links it
   * @throws MillraceError `identity-taken`, `identity-exists`, `invalid-token` when the session has ended in the
   * meantime
   */
  async join(user: string, id: string, session: string, stamp: ChangeStamp): Promise<IdentityView> {
    const { store, activity, sessions, now } = this.#deps;
    const identity: ProviderIdentity = { id, linkedAt: new Date(now()) };
    const { provider, subject } = parseIdentityId(identity);
    if (!(await store.addIdentity(user, provider, identity, stamp, identity.linkedAt))) {
      throw new MillraceError('identity-exists', `An identity of ${provider} is already linked`, {
        hint: `Remove it first: DELETE /auth/identities/${provider}`,
      });
    }
    const undo = () => store.removeIdentity(user, provider, null, stamp, new Date(now()));
    await sessions.confirmOpen(session, undo);
    await activity.record('system.identity.linked', { user, provider, subject }, stamp);
    return shown(identity);
  }

  /**
   * Removes the identity of a provider from an account, unless it is the last way to sign in: a password, or an identity
   * of a provider that is in use, must remain.
   * @param usable names of the providers that one can sign in by
   * @throws MillraceError `identity-not-found`, `last-sign-in-method`
   */
  async remove(user: string, provider: string, usable: readonly string[], stamp: ChangeStamp): Promise<void> {
    const { store, passwords, activity, tokens, now } = this.#deps;
    const find = async () =>
      (await store.find(user))?.identities?.find((one) => parseIdentityId(one).provider === provider);
    const identity = await find();
    // A user who has a password never loses it again, so it can be checked beforehand.
    const hasPassword = (await passwords.mark(user)) !== null;
    const others = hasPassword ? null : usable.filter((name) => name !== provider);
    const removed =
      identity !== undefined &&
      others?.length !== 0 &&
      (await store.removeIdentity(user, provider, others, stamp, new Date(now())));
    if (!removed) throw (await find()) === undefined ? noSuchIdentity() : lastSignInMethod();
    const { subject } = parseIdentityId(identity);
    await tokens.forget([identity.id]);
    await activity.record('system.identity.unlinked', { user, provider, subject }, stamp);
  }
}

/** The identities of a user, oldest first. */
export function toIdentityViews({ identities = [] }: Pick<User, 'identities'>): IdentityView[] {
  return identities.map(shown);
}

function shown(identity: ProviderIdentity): IdentityView {
  return { ...parseIdentityId(identity), linkedAt: identity.linkedAt.toISOString() };
}

function noSuchIdentity(): MillraceError {
  return new MillraceError('identity-not-found', 'No identity of this provider is linked');
}

function lastSignInMethod(): MillraceError {
  return new MillraceError('last-sign-in-method', 'It is the only sign-in method of the user', {
    hint: 'Link another identity first, or set a password (POST /auth/reset)',
  });
}
