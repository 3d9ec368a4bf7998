/**
 * Events of accounts that change no account: failed sign-ins, revocations, rotated keys. Each is a document of
 * `_activity`, and so an event; it must hold no secret. Not here: the rights to read the events.
 */
import { newId } from '../../database/json/ids.ts';
import { newMeta, type Stamp } from '../../database/system-collection.ts';
import type { ActivityStore } from './activity-store.ts';

export type ActivityType =
  | 'system.auth.failed'
  | 'system.auth.password-changed'
  | 'system.auth.setup-link'
  | 'system.session.revoked'
  | 'system.key-ring.rotated';

/** How long documents are kept; the event log and the audit have their own times. */
const KEPT_MS = 30 * 24 * 3_600_000;

export class Activity {
  readonly #store: ActivityStore;
  readonly #now: () => number;

  constructor(store: ActivityStore, now: () => number = Date.now) {
    this.#store = store;
    this.#now = now;
  }

  async record(type: ActivityType, details: Readonly<Record<string, string | null>>, stamp: Stamp): Promise<void> {
    const now = new Date(this.#now());
    await this.#store.insert({ _id: newId().toHexString(), type, details, _meta: newMeta(stamp, now) });
  }

  /** Deletes documents that are too old; that is no event. */
  async sweep(): Promise<void> {
    await this.#store.removeBefore(new Date(this.#now() - KEPT_MS));
  }
}
