/**
 * Runs functions again on what earlier runs were for, and triggers on what the log keeps. What was in the queue goes into the queue again. An endpoint runs again
 * in this process, if it acts as itself: as its caller nobody else can act. A before has no meaning without its write. Not
 * here: who may ask for it (http/run-routes.ts).
 */
import type { Stamp } from '../database/system-collection.ts';
import { MillraceError } from '../kernel/errors.ts';
import type { EndpointCalls } from './kinds/endpoints/endpoint-calls.ts';
import type { AskedRange, ReplayedRange, TriggerReplays } from './kinds/queue/trigger-replays.ts';
import type { ActivePlugins, PluginFunction } from './plugins/plugin.ts';
import type { Run } from './runs/run.ts';
import type { RunQueue } from './runs/run-queue.ts';
import { isRestricted, type RunRow } from './runs/run-row.ts';

export interface RunRepeatsParts {
  readonly active: Pick<ActivePlugins, 'find'>;
  readonly endpoints: Pick<EndpointCalls, 'repeat'>;
  readonly queue: RunQueue;
  readonly replays: Pick<TriggerReplays, 'replay'>;
}

export class RunRepeats {
  readonly #parts: RunRepeatsParts;

  constructor(parts: RunRepeatsParts) {
    this.#parts = parts;
  }

  /**
   * @param client the text that limits count who asks under
   * @returns the new run, which has not ended
   * @throws MillraceError `function-not-found`, `run-not-repeatable`, `function-quarantined`
   */
  async repeat(earlier: RunRow, client: string): Promise<Run> {
    const { active, endpoints, queue } = this.#parts;
    const id = `${earlier.plugin}/${earlier.function}`;
    const fn = active.find(id);
    if (fn === undefined) throw new MillraceError('function-not-found', `There is no function '${id}' in force`);
    if (fn.use.kind !== earlier.kind)
      throw refused(`'${id}' was of the kind ${earlier.kind} and is now ${fn.use.kind}`);
    if (earlier.state === 'waiting' || earlier.state === 'running') throw refused('The run has not ended');
    if (fn.isQuarantined) throw quarantined(id);
    if (isRestricted(earlier) && !fn.plugin.readsAccounts) {
      throw refused(`The run may contain data of accounts, which the present version of '${id}' may not read`);
    }
    if (isOfKind(fn, 'before')) throw refused('A before has no meaning without the write that it was asked about');
    if (!isOfKind(fn, 'endpoint')) return await queue.repeat(fn, earlier);
    if (fn.as === 'caller') throw refused(`'${id}' acts as its caller, who is not here`);
    if (earlier.input === null) throw refused('The input was too long to be kept');
    return endpoints.repeat(fn, client, earlier.input);
  }

  /**
   * Gives a range of the log to a trigger once more.
   * @param id `plugin/name`
   * @throws MillraceError `function-not-found`, `function-quarantined`, and those of {@link TriggerReplays.replay}
   */
  async replay(id: string, range: AskedRange, stamp: Stamp): Promise<ReplayedRange> {
    const fn = this.#parts.active.find(id);
    if (fn === undefined || !isOfKind(fn, 'trigger')) {
      const kind = fn === undefined ? '' : `: it is of the kind ${fn.use.kind}`;
      throw new MillraceError('function-not-found', `There is no trigger '${id.slice(0, 100)}' in force${kind}`);
    }
    if (fn.isQuarantined) throw quarantined(id);
    return await this.#parts.replays.replay(fn, range, stamp);
  }
}

function isOfKind<K extends RunRow['kind']>(fn: PluginFunction, kind: K): fn is PluginFunction<K> {
  return fn.use.kind === kind;
}

function quarantined(id: string): MillraceError {
  return new MillraceError('function-quarantined', `The function '${id}' is in quarantine`);
}

function refused(why: string): MillraceError {
  return new MillraceError('run-not-repeatable', why);
}
