/**
 * Functions that see writes before they are made: the hooks of the collections. A function that gives no verdict refuses the write,
 * also where functions are switched off: a check that does not run must not pass. Not here: which function sees which write
 * (before-table.ts) and what its answer means for the document (collections/seen-writes.ts).
 */
import { actorOf } from '../../../auth/identity/principal.ts';
import type {
  HookAnswer,
  Showing,
  ShownWrite,
  WriteAction,
  WriteHook,
  WriteHooks,
} from '../../../collections/write-hooks.ts';
import type { CollectionName } from '../../../database/names.ts';
import { type Fault, MillraceError } from '../../../kernel/errors.ts';
import type { Calling, CallReport } from '../../calling/calling.ts';
import { faultError, isToldFaults } from '../../calling/fault-error.ts';
import { type Blank, blanking } from '../../plugins/blanking.ts';
import type { ActivePlugins } from '../../plugins/plugin.ts';
import { depthOf } from '../../runs/run.ts';
import type { RunRecorder } from '../../runs/run-recorder.ts';
import type { CallOutcome } from '../../sandbox/sandbox.ts';
import { type Before, BeforeTable } from './before-table.ts';
import { returnedMembers, UnusableResult } from './returned.ts';

/** A place inside a document (RFC 6901), not the document itself. */
const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/;

export interface BeforesParts {
  readonly active: Pick<ActivePlugins, 'ofKind'>;
  readonly calling: Calling;
  readonly recorder: Pick<RunRecorder, 'newId' | 'line' | 'ended'>;
  /** Whether the server is in development mode: then everyone is told what failed. */
  readonly isDevelopment: boolean;
}

export class Befores implements WriteHooks {
  readonly #parts: BeforesParts;
  #functions: readonly Before[];
  #table: BeforeTable<WriteHook>;

  constructor(parts: BeforesParts) {
    this.#parts = parts;
    this.#functions = parts.active.ofKind('before');
    this.#table = this.#tableOf(this.#functions);
  }

  of(collection: CollectionName, action: WriteAction): readonly WriteHook[] | null {
    const functions = this.#parts.active.ofKind('before');
    if (functions !== this.#functions) {
      this.#table = this.#tableOf(functions);
      this.#functions = functions;
    }
    return this.#table.find(collection, action);
  }

  #tableOf(functions: readonly Before[]): BeforeTable<WriteHook> {
    return new BeforeTable(functions, (fn) => ({ see: (writes, showing) => this.#see(fn, writes, showing) }));
  }

  async #see(fn: Before, writes: readonly ShownWrite[], showing: Showing): Promise<readonly HookAnswer[]> {
    const { recorder, isDevelopment } = this.#parts;
    const { origin } = showing;
    if (fn.plugin.isStandIn) throw unavailable(fn, isToldFaults(origin.principal, isDevelopment));
    const input = inputOf(writes, showing);
    const client = actorOf(origin.principal) ?? 'anonymous';
    const subject = { id: recorder.newId(), fn, input, attempt: 1, depth: depthOf(origin.request), client };
    const isTold = isToldFaults(origin.principal, isDevelopment);
    const report = await this.#call(subject, showing, isTold);
    const { outcome, answers } = answered(report.outcome, writes.length, showing.action, blanking(fn.plugin));
    recorder.ended(subject, { ...report, outcome });
    if (outcome.kind === 'fault') throw faultError(outcome, fn.id, isTold);
    return answers;
  }

  async #call(
    { id, fn, input, attempt, depth }: Parameters<RunRecorder['ended']>[0],
    { origin, within }: Showing,
    isTold: boolean,
  ): Promise<CallReport> {
    const name = { id, plugin: fn.plugin.name, function: fn.name, restricted: false };
    try {
      return await this.#parts.calling.call({
        fn,
        input,
        run: { id, attempt, depth, restricted: false },
        caller: origin.principal,
        within: within ?? null,
        mayWrite: false,
        onLog: (line) => this.#parts.recorder.line(name, line),
      });
    } catch (error) {
      if (isTold || !(error instanceof MillraceError) || error.code !== 'function-quarantined') throw error;
      throw error.with({ message: 'A function that sees this write is in quarantine' });
    }
  }
}

/** The refusal of a write whose check has faults. No code is run for it and no run is kept. */
function unavailable({ id, plugin }: Before, isTold: boolean): MillraceError {
  return isTold
    ? new MillraceError('function-unavailable', `'${id}' must check this write, and its plugin has faults`, {
        hint: `Repair the plugin '${plugin.name}', or switch it off: PATCH /admin/plugins/${encodeURIComponent(plugin.name)} {"enabled":false}`,
      })
    : new MillraceError('function-unavailable', 'A function that must check this write has faults; nothing was done');
}

/** The writes as the function gets them: an array, of which the sandbox gives it one at a time. */
function inputOf(writes: readonly ShownWrite[], { action, collection }: Showing): string {
  const head = `{"action":${JSON.stringify(action)},"collection":${JSON.stringify(collection)}`;
  const each = writes.map(
    ({ document, before }) => `${head},"document":${document ?? null},"before":${before ?? null}}`,
  );
  return `[${each.join(',')}]`;
}

interface Answered {
  readonly outcome: CallOutcome;
  readonly answers: readonly HookAnswer[];
}

/** The answer to each write; or a fault, also for a result that cannot be one. Its message may name members of the result. */
function answered(outcome: CallOutcome, count: number, action: WriteAction, blank: Blank): Answered {
  const none: HookAnswer[] = Array.from({ length: count }, () => null);
  if (outcome.kind === 'fault') return { outcome, answers: none };
  if (outcome.kind === 'refusal') {
    return { outcome, answers: none.with(Math.min(outcome.index, count - 1), refusal(outcome)) };
  }
  // What is returned for a deletion means nothing.
  if (action === 'delete') return { outcome, answers: none };
  try {
    if (outcome.kind === 'response') throw new UnusableResult('It returned a Response: only endpoints answer with one');
    return { outcome, answers: returnedMembers(outcome.value, count) };
  } catch (error) {
    if (!(error instanceof UnusableResult)) throw error;
    const { cpuMs } = outcome;
    return {
      outcome: { kind: 'fault', code: 'function-failed', message: blank(error.message), stack: null, cpuMs },
      answers: none,
    };
  }
}

function refusal({ message, code, pointer }: Extract<CallOutcome, { kind: 'refusal' }>): MillraceError {
  const detail = message === '' ? 'A function refused the write' : message;
  const faults: Fault[] =
    pointer !== null && POINTER.test(pointer) ? [{ pointer, code: 'refused-by-function', detail }] : [];
  return new MillraceError('refused-by-function', detail, {
    faults,
    extensions: code === null ? {} : { reason: code },
  });
}
