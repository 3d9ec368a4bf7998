/**
 * One call of an endpoint: its turn, the call itself, and what becomes of its run. The run is not in the queue: it happens in
 * the process that was asked, once. Not here: which endpoint it is (endpoint-table.ts), policies and HTTP (http/).
 */
import type { Principal } from '../../../auth/identity/principal.ts';
import type { Calling } from '../../calling/calling.ts';
import { blanking } from '../../plugins/blanking.ts';
import type { ActivePlugins } from '../../plugins/plugin.ts';
import type { Run } from '../../runs/run.ts';
import type { RunRecorder } from '../../runs/run-recorder.ts';
import type { CallOutcome } from '../../sandbox/sandbox.ts';
import { CallSlots } from './call-slots.ts';
import { type Endpoint, EndpointTable } from './endpoint-table.ts';
import { sendable } from './sendable.ts';

export interface EndpointCallsParts {
  readonly active: Pick<ActivePlugins, 'ofKind'>;
  readonly calling: Calling;
  readonly recorder: RunRecorder;
  /** Told of a repetition that could not be called. */
  readonly onError: (error: unknown) => void;
  readonly slots?: CallSlots;
}

export interface EndpointAnswer {
  readonly outcome: CallOutcome;
  /** Id of its run; null when the run is not kept. */
  readonly run: string | null;
}

/** What one run is given. */
interface Given {
  readonly input: string;
  readonly hidden: readonly string[];
  /** The text that limits count the caller under. */
  readonly client: string;
  /** Of a repetition, which is always kept. */
  readonly id?: string;
}

export class EndpointCalls {
  readonly #parts: EndpointCallsParts;
  readonly #slots: CallSlots;
  #table: { readonly of: readonly Endpoint[]; readonly table: EndpointTable };

  constructor(parts: EndpointCallsParts) {
    this.#parts = parts;
    this.#slots = parts.slots ?? new CallSlots();
    this.#table = tableOf(parts.active.ofKind('endpoint'));
  }

  /** The endpoints in force. */
  get table(): EndpointTable {
    const endpoints = this.#parts.active.ofKind('endpoint');
    if (this.#table.of !== endpoints) this.#table = tableOf(endpoints);
    return this.#table.table;
  }

  /**
   * Calls an endpoint.
   * @param client the text that limits count the caller under
   * @param input JSON text
   * @param hidden texts that are blanked wherever something of the call is kept
   * @throws MillraceError `rate-limited`, `overloaded`, and as `Calling.call`
   */
  async call(
    fn: Endpoint,
    caller: Principal,
    client: string,
    input: string,
    hidden: readonly string[] = [],
  ): Promise<EndpointAnswer> {
    return await this.#slots.run(client, () => this.#run(fn, caller, { input, hidden, client }));
  }

  /**
   * Calls an endpoint that acts as itself once more, on an input that was recorded. Nobody waits for it, and its run is kept.
   * @returns the run, as it begins
   */
  repeat(fn: Endpoint, client: string, input: string): Run {
    const { recorder, onError } = this.#parts;
    const id = recorder.newId();
    const run = recorder.began({ id, fn, attempt: 1 });
    void this.#slots.run(client, () => this.#run(fn, null, { input, hidden: [], client, id })).catch(onError);
    return run;
  }

  async #run(
    fn: Endpoint,
    caller: Principal | null,
    { input, hidden, client, id: repeated }: Given,
  ): Promise<EndpointAnswer> {
    const { calling, recorder } = this.#parts;
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
    const outcome = sendable(returned, blanking(fn.plugin));
    const subject = { id, fn, input, hidden, attempt: 1, depth: 0, client };
    const isKept = recorder.ended(subject, { ...report, outcome }, repeated !== undefined);
    return { outcome, run: isKept ? id : null };
  }
}

function tableOf(endpoints: readonly Endpoint[]) {
  return { of: endpoints, table: new EndpointTable(endpoints) };
}
