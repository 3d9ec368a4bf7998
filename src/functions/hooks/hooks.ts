/**
 * Runs the write hooks of collections. A hook that fails rejects the write, also where functions are disabled (fail
 * closed).
 */
import { toActorId } from '../../auth/identity/principal.ts';
import type {
  HookResponse,
  WriteAction,
  WriteHook,
  WriteHookContext,
  WriteHookInput,
  WriteHooks,
} from '../../collections/write-hooks.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { type Issue, MillraceError } from '../../lib/errors.ts';
import type { CallReport, FunctionInvoker } from '../calling/call-types.ts';
import { maySeeErrorDetails, toCallError } from '../calling/function-error.ts';
import type { ActivePlugins } from '../plugins/plugin.ts';
import { pluginRedactor, type Redactor } from '../plugins/redaction.ts';
import { depthFromRequestId } from '../runs/run.ts';
import type { RunRecorder } from '../runs/run-recorder.ts';
import type { CallOutcome } from '../sandbox/sandbox.ts';
import { type WriteHookFunction, WriteHookIndex } from './hook-index.ts';
import { InvalidHookResultError, parseHookResult } from './hook-result.ts';

/** A JSON Pointer inside a document (RFC 6901), not the document itself. */
const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/;

export interface WriteHooksDeps {
  readonly active: Pick<ActivePlugins, 'ofKind'>;
  readonly calling: FunctionInvoker;
  readonly recorder: Pick<RunRecorder, 'newId' | 'line' | 'recordEnd'>;
  /** Whether the server is in development mode: then every client gets the message of the error. */
  readonly isDevelopment: boolean;
}

export class WriteHookRunner implements WriteHooks {
  readonly #deps: WriteHooksDeps;
  #functions: readonly WriteHookFunction[];
  #table: WriteHookIndex<WriteHook>;

  constructor(deps: WriteHooksDeps) {
    this.#deps = deps;
    this.#functions = deps.active.ofKind('beforeWrite');
    this.#table = this.#tableOf(this.#functions);
  }

  hooksFor(collection: CollectionName, action: WriteAction): readonly WriteHook[] | null {
    const functions = this.#deps.active.ofKind('beforeWrite');
    if (functions !== this.#functions) {
      this.#table = this.#tableOf(functions);
      this.#functions = functions;
    }
    return this.#table.find(collection, action);
  }

  #tableOf(functions: readonly WriteHookFunction[]): WriteHookIndex<WriteHook> {
    return new WriteHookIndex(functions, (fn) => ({ check: (writes, showing) => this.#see(fn, writes, showing) }));
  }

  async #see(
    fn: WriteHookFunction,
    writes: readonly WriteHookInput[],
    showing: WriteHookContext,
  ): Promise<readonly HookResponse[]> {
    const { recorder, isDevelopment } = this.#deps;
    const { origin } = showing;
    if (fn.plugin.isPlaceholder) throw unavailable(fn, maySeeErrorDetails(origin.principal, isDevelopment));
    const input = inputOf(writes, showing);
    const client = toActorId(origin.principal) ?? 'anonymous';
    const subject = { id: recorder.newId(), fn, input, attempt: 1, depth: depthFromRequestId(origin.request), client };
    const isReported = maySeeErrorDetails(origin.principal, isDevelopment);
    const report = await this.#call(subject, showing, isReported);
    const { outcome, responses } = response(report.outcome, writes.length, showing.action, pluginRedactor(fn.plugin));
    recorder.recordEnd(subject, { ...report, outcome });
    if (outcome.kind === 'error') throw toCallError(outcome, fn.id, isReported);
    return responses;
  }

  async #call(
    { id, fn, input, attempt, depth }: Parameters<RunRecorder['recordEnd']>[0],
    { origin, within }: WriteHookContext,
    isReported: boolean,
  ): Promise<CallReport> {
    const name = { id, plugin: fn.plugin.name, function: fn.name, restricted: false };
    try {
      return await this.#deps.calling.call({
        fn,
        input,
        run: { id, attempt, depth, restricted: false },
        caller: origin.principal,
        within: within ?? null,
        mayWrite: false,
        onLog: (line) => this.#deps.recorder.line(name, line),
      });
    } catch (error) {
      if (isReported || !(error instanceof MillraceError) || error.code !== 'function-quarantined') throw error;
      throw error.with({ message: 'A write hook for this write is in quarantine' });
    }
  }
}

/** The rejection of a write whose hook belongs to an invalid plugin. No code runs and no run is stored. */
function unavailable({ id, plugin }: WriteHookFunction, isReported: boolean): MillraceError {
  return isReported
    ? new MillraceError('write-hook-unavailable', `'${id}' must check this write, and its plugin has errors`, {
        hint: `Fix the plugin '${plugin.name}', or disable it: PATCH /admin/plugins/${encodeURIComponent(plugin.name)} {"enabled":false}`,
      })
    : new MillraceError('write-hook-unavailable', 'A write hook for this write has errors; nothing was written');
}

/** The writes as the input of the function: an array; the sandbox passes one element at a time. */
function inputOf(writes: readonly WriteHookInput[], { action, collection }: WriteHookContext): string {
  const head = `{"action":${JSON.stringify(action)},"collection":${JSON.stringify(collection)}`;
  const each = writes.map(
    ({ document, before }) => `${head},"document":${document ?? null},"before":${before ?? null}}`,
  );
  return `[${each.join(',')}]`;
}

interface ApiResponse {
  readonly outcome: CallOutcome;
  readonly responses: readonly HookResponse[];
}

/** The result for each write, or an error, also for an invalid result. Its message may name fields of the result. */
function response(outcome: CallOutcome, count: number, action: WriteAction, blank: Redactor): ApiResponse {
  const none: HookResponse[] = Array.from({ length: count }, () => null);
  if (outcome.kind === 'error') return { outcome, responses: none };
  if (outcome.kind === 'refusal') {
    return { outcome, responses: none.with(Math.min(outcome.index, count - 1), refusal(outcome)) };
  }
  // The result for a deletion is ignored.
  if (action === 'delete') return { outcome, responses: none };
  try {
    if (outcome.kind === 'response')
      throw new InvalidHookResultError('It returned a Response: only HTTP functions can do that');
    return { outcome, responses: parseHookResult(outcome.value, count) };
  } catch (error) {
    if (!(error instanceof InvalidHookResultError)) throw error;
    const { cpuMs } = outcome;
    return {
      outcome: { kind: 'error', code: 'function-failed', message: blank(error.message), stack: null, cpuMs },
      responses: none,
    };
  }
}

function refusal({ message, code, pointer }: Extract<CallOutcome, { kind: 'refusal' }>): MillraceError {
  const detail = message === '' ? 'A write hook rejected the write' : message;
  const issues: Issue[] =
    pointer !== null && POINTER.test(pointer) ? [{ pointer, code: 'rejected-by-function', detail }] : [];
  return new MillraceError('rejected-by-function', detail, {
    issues,
    extensions: code === null ? {} : { reason: code },
  });
}
