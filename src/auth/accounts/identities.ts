/**
 * The identities of an account: joining one, listing them, removing one, but never the last way to sign in. Not here:
 * proving an identity (flows/), and the account that a first sign-in makes (flows/provider-accounts.ts).
 */
import type { Activity } from '../../database/activity.ts';
import type { Stamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { identityParts, type ProviderIdentity } from '../identity/provider-identity.ts';
import type { User } from '../identity/user.ts';
import type { KeptTokens } from '../providers/kept-tokens.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { Passwords } from './passwords.ts';
import type { UserStore } from './user-store.ts';

export interface ShownIdentity {
  readonly provider: string;
  readonly subject: string;
  readonly joinedAt: string;
}

export interface IdentitiesParts {
  readonly store: UserStore;
  readonly passwords: Pick<Passwords, 'mark'>;
  readonly activity: Activity;
  readonly tokens: Pick<KeptTokens, 'forget'>;
  readonly sessions: Pick<Sessions, 'confirmOpen'>;
  readonly now: () => number;
}

export class Identities {
  readonly #parts: IdentitiesParts;

  constructor(parts: IdentitiesParts) {
    this.#parts = parts;
  }

  /**
   * Joins an identity to an account.
   * @param id of the identity
   * @param session the one that joins it
   * @throws MillraceError `identity-taken`, `identity-exists`, `invalid-credential` when the session has ended meanwhile
   */
  async join(user: string, id: string, session: string, stamp: Stamp): Promise<ShownIdentity> {
    const { store, activity, sessions, now } = this.#parts;
    const identity: ProviderIdentity = { id, joinedAt: new Date(now()) };
    const { provider, subject } = identityParts(identity);
    if (!(await store.addIdentity(user, provider, identity, stamp, identity.joinedAt))) {
      throw new MillraceError('identity-exists', `The account has an identity of ${provider} already`, {
        hint: `Remove it first: DELETE /auth/identities/${provider}`,
      });
    }
    const undo = () => store.removeIdentity(user, provider, null, stamp, new Date(now()));
    await sessions.confirmOpen(session, undo);
    await activity.record('system.identity.joined', { user, provider, subject }, stamp);
    return shown(identity);
  }

  /**
   * Removes the identity of a provider from an account, unless it is the last way to sign in: a password, or an identity
   * of a provider that is in use, must remain.
   * @param usable names of the providers that one can sign in by
   * @throws MillraceError `document-not-found`, `last-way-in`
   */
  async remove(user: string, provider: string, usable: readonly string[], stamp: Stamp): Promise<void> {
    const { store, passwords, activity, tokens, now } = this.#parts;
    const find = async () =>
      (await store.find(user))?.identities?.find((one) => identityParts(one).provider === provider);
    const identity = await find();
    // An account that has a password never loses it again, so it may be looked for before.
    const hasPassword = (await passwords.mark(user)) !== null;
    const others = hasPassword ? null : usable.filter((name) => name !== provider);
    const removed =
      identity !== undefined &&
      others?.length !== 0 &&
      (await store.removeIdentity(user, provider, others, stamp, new Date(now())));
    if (!removed) throw (await find()) === undefined ? noSuchIdentity() : lastWayIn();
    const { subject } = identityParts(identity);
    await tokens.forget([identity.id]);
    await activity.record('system.identity.removed', { user, provider, subject }, stamp);
  }
}

/** The identities of an account, oldest first. */
export function shownIdentities({ identities = [] }: Pick<User, 'identities'>): ShownIdentity[] {
  return identities.map(shown);
}

function shown(identity: ProviderIdentity): ShownIdentity {
  return { ...identityParts(identity), joinedAt: identity.joinedAt.toISOString() };
}

function noSuchIdentity(): MillraceError {
  return new MillraceError('document-not-found', 'The account has no identity of this provider');
}

function lastWayIn(): MillraceError {
  return new MillraceError('last-way-in', 'It is the only way to sign in to the account', {
    hint: 'Join another identity first, or set a password by a letter (POST /auth/reset)',
  });
}
