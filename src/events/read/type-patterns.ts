/**
 * The event types that a client requests, with wildcards: whether events of them can exist, and which rows match. A
 * type without events is rejected, because its client would wait in vain.
 */
import { nearestName } from '../../lib/did-you-mean.ts';
import { MillraceError } from '../../lib/errors.ts';
import { EVENT_VERBS, SYSTEM_EVENT_TYPES } from '../../lib/event-types.ts';
import { eventType } from '../log/event.ts';
import type { LogRow } from '../log/log-row.ts';

/** How many types a type filter caches; each collection has a few. */
const MOST_KNOWN = 1_000;

const VERB_ENDS = Object.keys(EVENT_VERBS).map((verb) => `.${verb}`);

/** @throws MillraceError `invalid-parameter` for a type that no event has, with the nearest type */
export function requireEventTypes(requested: readonly string[]): void {
  const other = requested.find((type) => !mayHappen(type));
  if (other === undefined) return;
  const near = nearestName(other, candidatesFor(other));
  throw new MillraceError('invalid-parameter', `There are no events of the type '${other.slice(0, 80)}'`, {
    hint:
      near === null
        ? `Types are todos${VERB_ENDS.join(', ')}, those of system.*, and patterns such as todos.*`
        : `Did you mean '${near}'?`,
  });
}

/** The system types that match a pattern. */
export function matchingSystemTypes(pattern: string): string[] {
  return [...SYSTEM_EVENT_TYPES.keys()].filter(eventTypeMatcher([pattern]));
}

/** Whether events of a type can exist. Collections may have any name, also one that only other programs use. */
function mayHappen(type: string): boolean {
  if (matchingSystemTypes(type).length > 0) return true;
  if (type.startsWith('system.')) return false;
  const star = type.lastIndexOf('*');
  if (star < 0) return VERB_ENDS.some((end) => type.length > end.length && type.endsWith(end));
  const end = type.slice(star + 1);
  return VERB_ENDS.some((one) => one.endsWith(end) || end.endsWith(one));
}

/** Suggestions: the system types and their patterns, and those of the same collection. */
function candidatesFor(type: string): string[] {
  const collection = type.split('.', 1)[0] ?? '';
  const system = [...SYSTEM_EVENT_TYPES.keys()];
  const patterns = new Set(system.map((one) => one.replace(/[^.]+$/, '*')));
  return [...system, ...patterns, ...VERB_ENDS.map((end) => `${collection}${end}`), `${collection}.*`];
}

/**
 * Returns the test whether an event type matches. Results are cached by type: otherwise each row would be compared with
 * every pattern of every client.
 * @param patterns types; `*` is a wildcard
 */
export function eventTypeMatcher(patterns: readonly string[]): (type: string) => boolean {
  const parts = patterns.map((one) => one.split('*'));
  const known = new Map<string, boolean>();
  return (type) => {
    const before = known.get(type);
    if (before !== undefined) return before;
    if (known.size >= MOST_KNOWN) known.clear();
    const found = parts.some((one) => fits(one, type));
    known.set(type, found);
    return found;
  };
}

/** Whether a row's type matches. A rename also counts for the new name, which loses the documents it had. */
export function matchesRowType(wants: (type: string) => boolean, row: LogRow, type = eventType(row)): boolean {
  if (type === null) return false;
  return wants(type) || (row.operation === 'rename' && row.to !== null && wants(`${row.to}.renamed`));
}

function fits([first = '', ...rest]: readonly string[], type: string): boolean {
  if (rest.length === 0) return first === type;
  if (!type.startsWith(first)) return false;
  const last = rest.pop() ?? '';
  let at = first.length;
  for (const part of rest) {
    const found = type.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return type.length >= at + last.length && type.endsWith(last);
}
