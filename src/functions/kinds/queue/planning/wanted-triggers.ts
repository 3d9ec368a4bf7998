/**
 * The triggers in force, ready for planning: which of them want events of a type, and whether a document matches their filter.
 * Pure. Not here: the runs that are planned for them (trigger-planner.ts).
 */
import type { Document } from 'mongodb';
import type { LogRow } from '../../../../events/log/row.ts';
import { WantedByType, WantedEvents } from '../../../../events/read/wanted-events.ts';
import { principalOf } from '../../../calling/call-principal.ts';
import type { PluginFunction } from '../../../plugins/plugin.ts';

/** Events of functions. A trigger gets them only if it names them: otherwise each failure could make the next one. */
const OF_FUNCTIONS = 'system.function.';

type TriggerFunction = PluginFunction<'trigger'>;

export class WantedTrigger extends WantedEvents {
  readonly fn: TriggerFunction;
  /** Rows after this number of the log count. */
  readonly from: number;

  constructor(fn: TriggerFunction, from: number) {
    super(fn.use.on, fn.use.filter, OF_FUNCTIONS);
    this.fn = fn;
    this.from = from;
  }

  /** Its filter; null without one. */
  matchAt(now: number): ((document: Document) => boolean) | null {
    return this.matchFor(principalOf(this.fn, null), now);
  }
}

/** The triggers by the types that they want. */
export class WantedTriggers {
  readonly #triggers: WantedByType<WantedTrigger>;

  /** @param from for each trigger the number of the row after which it counts; one without a number does not count */
  constructor(functions: readonly TriggerFunction[], from: ReadonlyMap<string, number>) {
    const triggers = functions.flatMap((fn) => {
      const begins = from.get(fn.id);
      return begins === undefined ? [] : [new WantedTrigger(fn, begins)];
    });
    this.#triggers = new WantedByType(triggers);
  }

  /** The triggers that want a row by its type and its place in the log. */
  by(row: LogRow): readonly WantedTrigger[] {
    return this.#triggers.by(row).filter(({ from }) => row.number > from);
  }
}
