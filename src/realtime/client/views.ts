/**
 * The subscriptions of one client that an owner opened as another principal. Each follows the rights of that principal,
 * and ends when the principal has ended or the owner may no longer look. Not here: who may look
 * (policies/standing/looking-as.ts), and what a subscription does with other rights.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ClientPrincipal, Principal } from '../../auth/identity/principal.ts';
import type { Whom } from '../../auth/identity/whom.ts';
import { type LookingAs, nobody } from '../../policies/standing/looking-as.ts';
import type { DocumentSubscription } from '../subscription/document-subscription.ts';
import type { EventSubscription } from '../subscription/event-subscription.ts';

export type ClientSubscription = DocumentSubscription | EventSubscription;

interface View {
  readonly whom: Whom;
  principal: ClientPrincipal;
  /** Counts the readings of the principal: only the result of the last one counts. */
  reading: number;
}

export class Views {
  readonly #lookingAs: LookingAs;
  /** Null while there is none: most clients never have one. */
  #views: WeakMap<ClientSubscription, View> | null = null;

  constructor(lookingAs: LookingAs) {
    this.#lookingAs = lookingAs;
  }

  /** Notes that a subscription was opened as another principal. */
  add(subscription: ClientSubscription, whom: Whom, principal: ClientPrincipal): void {
    this.#views ??= new WeakMap();
    this.#views.set(subscription, { whom, principal, reading: 0 });
  }

  /** Gets a new Scope for a subscription. @param asker the principal of the client as it is now */
  rescope(subscription: ClientSubscription, asker: ClientPrincipal): void {
    const view = this.#views?.get(subscription);
    if (view === undefined) {
      subscription.rescope(asker);
      return;
    }
    try {
      this.#lookingAs.require(asker);
    } catch (error) {
      this.#end(subscription, view, error);
      return;
    }
    subscription.rescope(view.principal);
  }

  /** Whether the principal of a subscription may have changed. @param still whether one is still valid as it is */
  isDoubtful(subscription: ClientSubscription, still: (principal: Principal) => boolean): boolean {
    const view = this.#views?.get(subscription);
    return view !== undefined && !still(view.principal);
  }

  /** Reads the principal of a subscription again; nothing for one of the client's own. */
  async renew(subscription: ClientSubscription, asker: ClientPrincipal): Promise<void> {
    const view = this.#views?.get(subscription);
    if (view === undefined) return;
    view.reading += 1;
    const { reading } = view;
    const isMeant = () => view.reading === reading && !subscription.ended;
    try {
      const principal = await this.#lookingAs.begin(asker, view.whom, null);
      if (!isMeant() || isDeepStrictEqual(principal, view.principal)) return;
      view.principal = principal;
      subscription.rescope(principal);
    } catch (error) {
      if (isMeant()) this.#end(subscription, view, error);
    }
  }

  /** Ends a subscription as a key whose time is over. @param now milliseconds since 1970 */
  look(subscription: ClientSubscription, now: number): void {
    const view = this.#views?.get(subscription);
    if (view?.principal.kind !== 'key' || view.principal.expiresAt === null || view.principal.expiresAt > now) return;
    this.#end(subscription, view, nobody(view.whom));
  }

  #end(subscription: ClientSubscription, view: View, error: unknown): void {
    view.reading += 1;
    if (!subscription.ended) subscription.end(error);
  }
}
