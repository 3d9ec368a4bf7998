/**
 * The subscriptions of one client that an administrator opened as another principal. Each follows the rights of that
 * principal, and ends when that principal ends or the administrator may no longer impersonate it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ImpersonationTarget } from '../../auth/identity/parse-impersonation-target.ts';
import type { Principal, RequestPrincipal } from '../../auth/identity/principal.ts';
import { type ImpersonationService, impersonationTargetNotFound } from '../../policies/impersonation.ts';
import type { CollectionSubscription } from '../subscription/collection-subscription.ts';
import type { EventSubscription } from '../subscription/event-subscription.ts';

export type AnySubscription = CollectionSubscription | EventSubscription;

interface View {
  readonly target: ImpersonationTarget;
  principal: RequestPrincipal;
  /** Counts reads of the principal: only the result of the last one is used. */
  reading: number;
}

export class ImpersonatedSubscriptions {
  readonly #impersonation: ImpersonationService;
  /** Null without any: most clients never have one. */
  #views: WeakMap<AnySubscription, View> | null = null;

  constructor(impersonation: ImpersonationService) {
    this.#impersonation = impersonation;
  }

  /** Records that a subscription was opened as another principal. */
  add(subscription: AnySubscription, target: ImpersonationTarget, principal: RequestPrincipal): void {
    this.#views ??= new WeakMap();
    this.#views.set(subscription, { target, principal, reading: 0 });
  }

  /** Gets a new Scope for a subscription. @param asker the current principal of the client */
  rescope(subscription: AnySubscription, asker: RequestPrincipal): void {
    const view = this.#views?.get(subscription);
    if (view === undefined) {
      subscription.rescope(asker);
      return;
    }
    try {
      this.#impersonation.require(asker);
    } catch (error) {
      this.#end(subscription, view, error);
      return;
    }
    subscription.rescope(view.principal);
  }

  /**
   * Whether the principal of a subscription may have changed.
   * @param still whether a principal is unchanged and valid
   */
  mayHaveChanged(subscription: AnySubscription, still: (principal: Principal) => boolean): boolean {
    const view = this.#views?.get(subscription);
    return view !== undefined && !still(view.principal);
  }

  /** Reads the principal of a subscription again; does nothing for one of the client's own. */
  async renew(subscription: AnySubscription, asker: RequestPrincipal): Promise<void> {
    const view = this.#views?.get(subscription);
    if (view === undefined) return;
    view.reading += 1;
    const { reading } = view;
    const isMeant = () => view.reading === reading && !subscription.ended;
    try {
      const principal = await this.#impersonation.begin(asker, view.target, null);
      if (!isMeant() || isDeepStrictEqual(principal, view.principal)) return;
      view.principal = principal;
      subscription.rescope(principal);
    } catch (error) {
      if (isMeant()) this.#end(subscription, view, error);
    }
  }

  /** Ends a subscription if it impersonates an expired key. @param now milliseconds since 1970 */
  endIfExpired(subscription: AnySubscription, now: number): void {
    const view = this.#views?.get(subscription);
    if (view?.principal.kind !== 'key' || view.principal.expiresAt === null || view.principal.expiresAt > now) return;
    this.#end(subscription, view, impersonationTargetNotFound(view.target));
  }

  #end(subscription: AnySubscription, view: View, error: unknown): void {
    view.reading += 1;
    if (!subscription.ended) subscription.end(error);
  }
}
