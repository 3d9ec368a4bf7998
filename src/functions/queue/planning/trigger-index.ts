/**
 * The active triggers, compiled for planning: which match an event type, and whether a document matches their filter.
 * Pure.
 */
import type { Document } from 'mongodb';
import type { LogRow } from '../../../events/log/log-row.ts';
import { EventFilter, EventFiltersByType } from '../../../events/read/event-filter.ts';
import { eventPrefixesCausedBy } from '../../../lib/event-types.ts';
import { resolvePrincipal } from '../../calling/call-principal.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';

/** Events of functions, which a trigger gets only if it names them. */
const OF_FUNCTIONS = eventPrefixesCausedBy('functions');

type TriggerFunction = PluginFunction<'trigger'>;

export class TriggerFilter extends EventFilter {
  readonly fn: TriggerFunction;
  /** The trigger receives rows after this number. */
  readonly from: number;

  constructor(fn: TriggerFunction, from: number) {
    super(fn.options.on, fn.options.filter, OF_FUNCTIONS);
    this.fn = fn;
    this.from = from;
  }

  /** Its filter; null without one. */
  matchAt(now: number): ((document: Document) => boolean) | null {
    return this.matchFor(resolvePrincipal(this.fn, null), now);
  }
}

/** The triggers by matching event type. */
export class TriggerIndex {
  readonly #triggers: EventFiltersByType<TriggerFilter>;

  /** @param from for each trigger the number of the row after which it starts; a trigger without one is ignored */
  constructor(functions: readonly TriggerFunction[], from: ReadonlyMap<string, number>) {
    const triggers = functions.flatMap((fn) => {
      const begins = from.get(fn.id);
      return begins === undefined ? [] : [new TriggerFilter(fn, begins)];
    });
    this.#triggers = new EventFiltersByType(triggers);
  }

  /** The triggers that match a row by its type and position. */
  by(row: LogRow): readonly TriggerFilter[] {
    return this.#triggers.by(row).filter(({ from }) => row.number > from);
  }
}
