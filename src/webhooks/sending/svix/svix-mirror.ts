/**
 * Keeps Svix's endpoints like Millrace's: after each change, at the start and every hour, each is looked at and mended, and
 * what Millrace does not have is removed. Works in the background, and again and again until Svix has taken it. Not here: one
 * endpoint (svix-endpoint.ts), and messages (svix-messages.ts).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Lease } from '../../../database/lease.ts';
import type { Note } from '../../../events/log/note.ts';
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import type { StoredTargets } from '../sender.ts';
import type { SvixApi } from './svix-api.ts';
import { SvixFault } from './svix-api.ts';
import { mendEndpoint, removeEndpoint, removeStrangers } from './svix-endpoint.ts';

export interface SvixMirrorParts {
  readonly api: SvixApi;
  /** The name of this installation's application at Svix. */
  readonly uid: () => Promise<string>;
  /**
   * A process may have been told of an older endpoint, and two processes that tell Svix of different ones would rotate its secrets
   * back and forth.
   */
  readonly stored: StoredTargets;
  /** Held while Svix is told of endpoints, so that one process does so at a time. */
  readonly lease: Pick<Lease, 'acquire' | 'release' | 'held'>;
  readonly onNote: Note;
  /** Time from one look at everything to the next, in milliseconds. */
  readonly checkMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Endpoints that are looked at together. */
const TOGETHER = 4;
/** Pause after an unexpected failure, in milliseconds, such as a database that is away. */
const AGAIN_MS = 1_000;
/** Pause before the lease is asked for again that another process holds, in milliseconds. */
const LEASE_MS = 100;

export class SvixMirror {
  readonly #parts: SvixMirrorParts;
  readonly #end = new AbortController();
  /** What Svix shall have; null where it shall have nothing. */
  readonly #wanted = new Map<string, EndpointTarget | null>();
  /** What Svix may have otherwise. */
  readonly #open = new Set<string>();
  /** What Svix refuses to take, with the reason, until it is changed or looked at again. */
  readonly #refused = new Map<string, string>();
  #strangers = true;
  #application: string | null = null;
  #running: Promise<void> | null = null;
  #step = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: SvixMirrorParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => this.check(), this.#parts.checkMs);
    this.#timer.unref();
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    clearInterval(this.#timer);
    this.#step.resolve();
    await this.#running;
  }

  set(target: EndpointTarget): void {
    this.#wanted.set(target.id, target);
    this.#look(target.id);
  }

  remove(id: string): void {
    this.#wanted.set(id, null);
    this.#look(id);
  }

  /** Why Svix does not take an endpoint, as a sentence; null when it does, as far as is known. */
  fault(id: string): string | null {
    return this.#refused.get(id) ?? null;
  }

  /** Looks at everything. */
  check(): void {
    this.#strangers = true;
    for (const id of this.#wanted.keys()) this.#look(id);
    this.#wake();
  }

  /** Svix misses something of an endpoint, perhaps the whole application. */
  forgotten(id: string): void {
    this.#application = null;
    if (this.#wanted.has(id)) this.#look(id);
  }

  /** Waits a while until Svix has an endpoint as it shall be. @returns whether it has */
  async settled(id: string, forMs: number): Promise<boolean> {
    const end = performance.now() + forMs;
    const { signal } = this.#end;
    while (this.#open.has(id) && !signal.aborted && performance.now() < end) {
      await Promise.race([
        this.#step.promise,
        pause(Math.max(1, end - performance.now()), undefined, { signal }),
      ]).catch(() => undefined);
    }
    return !this.#open.has(id) && !this.#refused.has(id);
  }

  /** The application at Svix, which is made when it is missing. @throws SvixFault */
  async application(): Promise<string> {
    if (this.#application !== null) return this.#application;
    const uid = await this.#parts.uid();
    // A key that was used answers for twelve hours with what was made then, even when that is gone.
    const options = { idempotencyKey: `application.${uid}.${randomUUID()}` };
    await this.#parts.api.call((svix) => svix.application.getOrCreate({ name: 'Millrace', uid }, options));
    this.#application = uid;
    return uid;
  }

  #look(id: string): void {
    this.#open.add(id);
    this.#wake();
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      // It may have come while the lease was given back.
      if (!this.#end.signal.aborted && this.#hasWork()) this.#wake();
    });
  }

  async #run(): Promise<void> {
    const { lease } = this.#parts;
    try {
      await this.#settle();
    } finally {
      await lease.release().catch(() => undefined);
    }
  }

  async #settle(): Promise<void> {
    const { api, onNote, lease } = this.#parts;
    const { signal } = this.#end;
    while (!signal.aborted && this.#hasWork()) {
      try {
        await pause(api.pause(), undefined, { signal });
        if (!lease.held() && !(await lease.acquire())) {
          await pause(LEASE_MS, undefined, { signal });
          continue;
        }
        if (this.#open.size > 0) await this.#mendSome();
        else await this.#removeStrangers();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof SvixFault && error.kind === 'missing') this.#application = null;
        if (!(error instanceof SvixFault))
          onNote('warn', 'Endpoints could not be told to Svix yet', { fault: String(error) });
        await pause(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #hasWork(): boolean {
    return this.#strangers || this.#open.size > 0;
  }

  async #mendSome(): Promise<void> {
    const app = await this.application();
    const some = [...this.#open].slice(0, TOGETHER);
    const results = await Promise.allSettled(some.map((id) => this.#mend(app, id)));
    this.#step.resolve();
    this.#step = Promise.withResolvers();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #mend(app: string, id: string): Promise<void> {
    const { api, now, stored, onNote } = this.#parts;
    const target = this.#wanted.get(id) ?? null;
    try {
      const fresh = target === null ? null : await stored.one(id);
      if (target === null) await removeEndpoint(api, app, id);
      else if (fresh !== null) await mendEndpoint(api, app, fresh, now());
      this.#refused.delete(id);
    } catch (error) {
      if (!(error instanceof SvixFault) || error.kind !== 'refused') throw error;
      onNote('error', `Svix does not take the endpoint '${id}': its deliveries wait`, { fault: error.message });
      this.#refused.set(id, error.message);
    }
    // It may have been changed once more meanwhile.
    if ((this.#wanted.get(id) ?? null) !== target) return;
    this.#open.delete(id);
    if (target === null) this.#wanted.delete(id);
  }

  async #removeStrangers(): Promise<void> {
    const { api, stored } = this.#parts;
    this.#strangers = false;
    try {
      await removeStrangers(api, await this.application(), stored.ids);
    } catch (error) {
      this.#strangers = true;
      throw error;
    }
  }
}
