/**
 * One call of an HTTP function: its slot, the call itself, and its run. The run is not queued: it executes once, in the
 * process that received the request.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { FunctionInvoker } from '../calling/call-types.ts';
import type { ActivePlugins } from '../plugins/plugin.ts';
import { pluginRedactor } from '../plugins/redaction.ts';
import type { Run } from '../runs/run.ts';
import type { RunRecorder } from '../runs/run-recorder.ts';
import type { CallOutcome } from '../sandbox/sandbox.ts';
import { type Endpoint, EndpointTable } from './endpoint-table.ts';
import { validateResponse } from './response-filter.ts';

export interface EndpointCallsDeps {
  readonly active: Pick<ActivePlugins, 'ofKind'>;
  readonly calling: FunctionInvoker;
  readonly recorder: RunRecorder;
  /** Called when a rerun could not start. */
  readonly onError: (error: unknown) => void;
  readonly slots?: CallConcurrencyLimiter;
}

export interface EndpointCallResult {
  readonly outcome: CallOutcome;
  /** Id of its run; null if the run is not stored. */
  readonly run: string | null;
}

/** The input of one run. */
interface Given {
  readonly input: string;
  readonly hidden: readonly string[];
  /** The rate-limit key of the caller. */
  readonly client: string;
  /** Set for a rerun, which is always stored. */
  readonly id?: string;
}

export class EndpointCalls {
  readonly #deps: EndpointCallsDeps;
  readonly #slots: CallConcurrencyLimiter;
  #table: { readonly of: readonly Endpoint[]; readonly table: EndpointTable };

  constructor(deps: EndpointCallsDeps) {
    this.#deps = deps;
    this.#slots = deps.slots ?? new CallConcurrencyLimiter();
    this.#table = tableOf(deps.active.ofKind('http'));
  }

  /** The active HTTP functions. */
  get table(): EndpointTable {
    const endpoints = this.#deps.active.ofKind('http');
    if (this.#table.of !== endpoints) this.#table = tableOf(endpoints);
    return this.#table.table;
  }

  /**
   * Calls an HTTP function.
   * @param client the rate-limit key of the caller
   * @param input JSON text
   * @param hidden texts that are redacted in everything stored of the call
   * @throws MillraceError `rate-limited`, `overloaded`, and as `FunctionInvoker.call`
   */
  async call(
    fn: Endpoint,
    caller: Principal,
    client: string,
    input: string,
    hidden: readonly string[] = [],
  ): Promise<EndpointCallResult> {
    return await this.#slots.run(client, () => this.#run(fn, caller, { input, hidden, client }));
  }

  /**
   * Reruns an HTTP function that acts as itself, with a recorded input. It is not awaited, and its run is always
   * stored.
   * @returns the run as it starts
   */
  rerun(fn: Endpoint, client: string, input: string): Run {
    const { recorder, onError } = this.#deps;
    const id = recorder.newId();
    const run = recorder.recordStart({ id, fn, attempt: 1 });
    void this.#slots.run(client, () => this.#run(fn, null, { input, hidden: [], client, id })).catch(onError);
    return run;
  }

  async #run(
    fn: Endpoint,
    caller: Principal | null,
    { input, hidden, client, id: repeated }: Given,
  ): Promise<EndpointCallResult> {
    const { calling, recorder } = this.#deps;
    const id = repeated ?? recorder.newId();
    const name = { id, plugin: fn.plugin.name, function: fn.name, restricted: false };
    const { outcome: returned, ...report } = await calling.call({
      fn,
      input,
      run: { id, attempt: 1, depth: 0, restricted: false },
      caller,
      within: null,
      mayWrite: true,
      hidden,
      onLog: (line) => recorder.line(name, line),
    });
    const outcome = validateResponse(returned, pluginRedactor(fn.plugin));
    const subject = { id, fn, input, hidden, attempt: 1, depth: 0, client };
    const isKept = recorder.recordEnd(subject, { ...report, outcome }, repeated !== undefined);
    return { outcome, run: isKept ? id : null };
  }
}

function tableOf(endpoints: readonly Endpoint[]) {
  return { of: endpoints, table: new EndpointTable(endpoints) };
}

export interface CallLimits {
  /** Concurrent calls. */
  readonly running: number;
  /** Per client. */
  readonly runningPerClient: number;
  /** Running and queued calls. */
  readonly held: number;
  /** Per client. */
  readonly heldPerClient: number;
}

const BOUNDS: CallLimits = { running: 256, runningPerClient: 64, held: 2_000, heldPerClient: 250 };

export class CallConcurrencyLimiter {
  readonly #bounds: CallLimits;
  readonly #running: FairSemaphore;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(bounds: CallLimits = BOUNDS) {
    this.#bounds = bounds;
    this.#running = new FairSemaphore(bounds.running, bounds.runningPerClient);
  }

  /**
   * Runs a call when a slot is free.
   * @param client the rate-limit key of the client
   * @throws MillraceError `rate-limited` when too many calls of the client wait, `overloaded` when too many wait in
   * total
   */
  async run<T>(client: string, call: () => Promise<T>): Promise<T> {
    const headers = { 'retry-after': '1' };
    const mine = this.#held.get(client) ?? 0;
    if (mine >= this.#bounds.heldPerClient) {
      throw new MillraceError('rate-limited', 'Too many calls of this client are waiting', { headers });
    }
    if (this.#all >= this.#bounds.held) {
      throw new MillraceError('overloaded', 'Too many function calls are waiting', { headers });
    }
    this.#held.set(client, mine + 1);
    this.#all += 1;
    try {
      return await this.#running.run(client, call);
    } finally {
      this.#all -= 1;
      const left = (this.#held.get(client) ?? 1) - 1;
      if (left > 0) this.#held.set(client, left);
      else this.#held.delete(client);
    }
  }
}
