/**
 * Reruns functions with the input of earlier runs, and replays log ranges to triggers. Queued runs are queued again. An HTTP
 * function reruns in this process if it acts as itself: its caller cannot be represented later. A write hook has no meaning
 * without its write.
 */
import type { ChangeStamp } from '../database/system-collection.ts';
import { MillraceError } from '../lib/errors.ts';
import type { EndpointCalls } from './endpoints/endpoint-calls.ts';
import type { ActivePlugins, PluginFunction } from './plugins/plugin.ts';
import type { TriggerReplayProgress, TriggerReplayRequest, TriggerReplays } from './queue/trigger-replays.ts';
import type { Run } from './runs/run.ts';
import type { RunQueue } from './runs/run-queue-interface.ts';
import { isRestrictedRun, type RunRow } from './runs/run-row.ts';

export interface FunctionRerunsDeps {
  readonly active: Pick<ActivePlugins, 'find'>;
  readonly endpoints: Pick<EndpointCalls, 'rerun'>;
  readonly queue: RunQueue;
  readonly replays: Pick<TriggerReplays, 'replay'>;
}

export class FunctionReruns {
  readonly #deps: FunctionRerunsDeps;

  constructor(deps: FunctionRerunsDeps) {
    this.#deps = deps;
  }

  /**
   * @param client the rate-limit key of the caller
   * @returns the new, unfinished run
   * @throws MillraceError `function-not-found`, `rerun-not-possible`, `function-quarantined`
   */
  async rerun(earlier: RunRow, client: string): Promise<Run> {
    const { active, endpoints, queue } = this.#deps;
    const id = `${earlier.plugin}/${earlier.function}`;
    const fn = active.find(id);
    if (fn === undefined) throw new MillraceError('function-not-found', `There is no active function '${id}'`);
    if (fn.options.kind !== earlier.kind)
      throw refused(`'${id}' was of the kind ${earlier.kind} and is now ${fn.options.kind}`);
    if (earlier.state === 'pending' || earlier.state === 'running') throw refused('The run has not ended');
    if (fn.isQuarantined) throw quarantined(id);
    if (isRestrictedRun(earlier) && !fn.plugin.readsUsers) {
      throw refused(`The run can contain data of users, which the active version of '${id}' has no permission to read`);
    }
    if (isOfKind(fn, 'beforeWrite')) throw refused('A write hook cannot be rerun: its write has ended');
    if (!isOfKind(fn, 'http')) return await queue.rerun(fn, earlier);
    if (fn.as === 'caller') throw refused(`'${id}' runs as its caller, and a rerun has no caller`);
    if (earlier.input === null) throw refused('The input was too long to store');
    return endpoints.rerun(fn, client, earlier.input);
  }

  /**
   * Replays a range of the log to a trigger.
   * @param id `plugin/name`
   * @throws MillraceError `function-not-found`, `function-quarantined`, and those of {@link TriggerReplays.replay}
   */
  async replay(id: string, range: TriggerReplayRequest, stamp: ChangeStamp): Promise<TriggerReplayProgress> {
    const fn = this.#deps.active.find(id);
    if (fn === undefined || !isOfKind(fn, 'trigger')) {
      const kind = fn === undefined ? '' : `: it is of the kind ${fn.options.kind}`;
      throw new MillraceError('function-not-found', `There is no active trigger '${id.slice(0, 100)}'${kind}`);
    }
    if (fn.isQuarantined) throw quarantined(id);
    return await this.#deps.replays.replay(fn, range, stamp);
  }
}

function isOfKind<K extends RunRow['kind']>(fn: PluginFunction, kind: K): fn is PluginFunction<K> {
  return fn.options.kind === kind;
}

function quarantined(id: string): MillraceError {
  return new MillraceError('function-quarantined', `The function '${id}' is in quarantine`);
}

function refused(why: string): MillraceError {
  return new MillraceError('rerun-not-possible', why);
}
