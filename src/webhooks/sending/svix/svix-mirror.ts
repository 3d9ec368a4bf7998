/**
 * Mirrors endpoints to Svix: after each change, at the start and every hour it compares and fixes each one, and removes
 * unknown ones. Works in the background and retries until Svix has accepted everything.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Lease } from '../../../database/lease.ts';
import type { WriteServerLog } from '../../../events/log/server-log-forwarder.ts';
import type { EndpointDeliverySettings } from '../../endpoint/endpoint.ts';
import type { StoredEndpointReader } from '../sender.ts';
import type { SvixApi } from './svix-api.ts';
import { SvixError } from './svix-api.ts';
import { removeSvixEndpoint, removeUnknownEndpoints, syncSvixEndpoint } from './svix-endpoint.ts';

export interface SvixMirrorDeps {
  readonly api: SvixApi;
  /** The name of this instance's application at Svix. */
  readonly uid: () => Promise<string>;
  /**
   * Read from the database: a process may know an older endpoint, and two processes with different versions would
   * rotate its secrets back and forth.
   */
  readonly stored: StoredEndpointReader;
  /** Held during synchronization, so that one process does it at a time. */
  readonly lease: Pick<Lease, 'acquire' | 'release' | 'held'>;
  readonly onLog: WriteServerLog;
  /** Interval of full comparisons, in milliseconds. */
  readonly checkMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Endpoints compared concurrently. */
const TOGETHER = 4;
/** Pause after an unexpected failure, such as an unavailable database, in milliseconds. */
const AGAIN_MS = 1_000;
/** Pause before another attempt to acquire the lease, in milliseconds. */
const LEASE_MS = 100;

export class SvixMirror {
  readonly #deps: SvixMirrorDeps;
  readonly #end = new AbortController();
  /** The desired state at Svix; null for no endpoint. */
  readonly #requested = new Map<string, EndpointDeliverySettings | null>();
  /** Endpoints whose state at Svix may differ. */
  readonly #open = new Set<string>();
  /** Endpoints that Svix rejects, with the reason, until they change or are checked again. */
  readonly #refused = new Map<string, string>();
  #anonymous = true;
  #application: string | null = null;
  #running: Promise<void> | null = null;
  #step = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: SvixMirrorDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = setInterval(() => this.check(), this.#deps.checkMs);
    this.#timer.unref();
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    clearInterval(this.#timer);
    this.#step.resolve();
    await this.#running;
  }

  set(target: EndpointDeliverySettings): void {
    this.#requested.set(target.id, target);
    this.#look(target.id);
  }

  remove(id: string): void {
    this.#requested.set(id, null);
    this.#look(id);
  }

  /** Why Svix does not accept an endpoint, as a sentence; null if it does, as far as known. */
  issue(id: string): string | null {
    return this.#refused.get(id) ?? null;
  }

  /** Compares everything. */
  check(): void {
    this.#anonymous = true;
    for (const id of this.#requested.keys()) this.#look(id);
    this.#wake();
  }

  /** Svix lacks something of an endpoint, perhaps the whole application. */
  forgotten(id: string): void {
    this.#application = null;
    if (this.#requested.has(id)) this.#look(id);
  }

  /** Waits for a while until an endpoint is synchronized. @returns whether it is */
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

  /** The application at Svix, created if missing. @throws SvixError */
  async application(): Promise<string> {
    if (this.#application !== null) return this.#application;
    const uid = await this.#deps.uid();
    // A used idempotency key returns the created application for twelve hours, even if it was deleted.
    const options = { idempotencyKey: `application.${uid}.${randomUUID()}` };
    await this.#deps.api.call((svix) => svix.application.getOrCreate({ name: 'Millrace', uid }, options));
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
      // A change may have come while the lease was released.
      if (!this.#end.signal.aborted && this.#hasWork()) this.#wake();
    });
  }

  async #run(): Promise<void> {
    const { lease } = this.#deps;
    try {
      await this.#settle();
    } finally {
      await lease.release().catch(() => undefined);
    }
  }

  async #settle(): Promise<void> {
    const { api, onLog, lease } = this.#deps;
    const { signal } = this.#end;
    while (!signal.aborted && this.#hasWork()) {
      try {
        await pause(api.pause(), undefined, { signal });
        if (!lease.held() && !(await lease.acquire())) {
          await pause(LEASE_MS, undefined, { signal });
          continue;
        }
        if (this.#open.size > 0) await this.#fixSome();
        else await this.#removeUnknown();
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof SvixError && error.kind === 'missing') this.#application = null;
        if (!(error instanceof SvixError))
          onLog('warn', 'Endpoints could not be sent to Svix yet', { error: String(error) });
        await pause(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  #hasWork(): boolean {
    return this.#anonymous || this.#open.size > 0;
  }

  async #fixSome(): Promise<void> {
    const app = await this.application();
    const some = [...this.#open].slice(0, TOGETHER);
    const results = await Promise.allSettled(some.map((id) => this.#fix(app, id)));
    this.#step.resolve();
    this.#step = Promise.withResolvers();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #fix(app: string, id: string): Promise<void> {
    const { api, now, stored, onLog } = this.#deps;
    const target = this.#requested.get(id) ?? null;
    try {
      const fresh = target === null ? null : await stored.one(id);
      if (target === null) await removeSvixEndpoint(api, app, id);
      else if (fresh !== null) await syncSvixEndpoint(api, app, fresh, now());
      this.#refused.delete(id);
    } catch (error) {
      if (!(error instanceof SvixError) || error.kind !== 'refused') throw error;
      onLog('error', `Svix does not accept the endpoint '${id}': its deliveries stay pending`, {
        error: error.message,
      });
      this.#refused.set(id, error.message);
    }
    // It may have been changed again in between.
    if ((this.#requested.get(id) ?? null) !== target) return;
    this.#open.delete(id);
    if (target === null) this.#requested.delete(id);
  }

  async #removeUnknown(): Promise<void> {
    const { api, stored } = this.#deps;
    this.#anonymous = false;
    try {
      await removeUnknownEndpoints(api, await this.application(), stored.ids);
    } catch (error) {
      this.#anonymous = true;
      throw error;
    }
  }
}
