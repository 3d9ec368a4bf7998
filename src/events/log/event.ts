/**
 * The event as clients see it, made from a row: its type, its actor, the states before and after as JSON values.
 * Sockets, feeds, webhooks, functions and audit use the same envelope. Pure. Not here: which reader may see it
 * (visible-row.ts).
 */

import { rawDifference } from '../../database/bson/raw.ts';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import { toWire } from '../../database/json/json.ts';
import { storedRevision } from '../../database/json/transcode-document.ts';
import type { CollectionName } from '../../database/names.ts';
import { formatPosition } from './position.ts';
import type { LogRow } from './row.ts';
import { updatedPaths } from './updated-paths.ts';

export interface Event {
  /** The event's position in the log, `<epoch>-<number>`. */
  readonly id: string;
  /** `todos.created`, `system.file.deleted`. */
  readonly type: string;
  /** When the database made the change, ISO 8601. */
  readonly timestamp: string;
  /** Null for events that concern the system. */
  readonly collection: string | null;
  readonly documentId: string | null;
  readonly revision: number | null;
  /** Top-level names with a changed value; null on create and delete, and where a state is unknown. */
  readonly changed: readonly string[] | null;
  readonly actor: { readonly kind: string; readonly id: string } | null;
  readonly request: string | null;
  /** The same for all events of one database transaction. */
  readonly transaction: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ['insert', 'created'],
  ['update', 'updated'],
  ['replace', 'updated'],
  ['delete', 'deleted'],
  ['drop', 'dropped'],
  ['rename', 'renamed'],
]);

const THINGS: ReadonlyMap<string, string> = new Map([
  ['_policies', 'policy'],
  ['_activity', 'activity'],
]);

/** The form of the type that an activity document names: three words with dots between them. */
const ACTIVITY_TYPE = /^system\.[a-z][a-z-]*\.[a-z][a-z-]*$/;

/** The event type of a row, or null when the row is not an event: schema changes, starts, resets. */
export function eventType(row: LogRow): string | null {
  if (row.operation === 'gap') return 'system.log.gap';
  const verb = VERBS.get(row.operation);
  if (verb === undefined || row.collection === null) return null;
  if (!row.collection.startsWith('_')) return `${row.collection}.${verb}`;
  if (row.collection === '_activity' && row.operation === 'insert') return activityType(row.after);
  return `system.${THINGS.get(row.collection) ?? thing(row.collection)}.${verb}`;
}

/** The types that events of a collection have. */
export function typesOf(collection: CollectionName): string[] {
  return [...VERBS.values()].map((verb) => `${collection}.${verb}`);
}

/** Whether events of a type can exist; `*` stands for anything. A misspelt type would be waited for in vain. */
export function mayHappen(type: string): boolean {
  if (type.includes('*') || type.startsWith('system.')) return true;
  const dot = type.lastIndexOf('.');
  return dot > 0 && [...VERBS.values()].includes(type.slice(dot + 1));
}

/** The event of a row, or null when the row is not an event. Every call makes a new object. */
export function toEvent(row: LogRow): Event | null {
  const type = eventType(row);
  if (type === null) return null;
  const document = row.after ?? row.before;
  const system = type.startsWith('system.');
  return {
    id: formatPosition(row),
    type,
    timestamp: row.wall.toISOString(),
    collection: system ? null : row.collection,
    documentId: row.key && idText(readStored(row.key)['_id']),
    revision: row.key && document ? storedRevision(document) : null,
    changed: changed(row),
    actor: actor(row.by),
    request: row.request,
    transaction: row.transaction?.id ?? null,
    data: data(row),
    before: row.before && toWire(readStored(row.before)),
  };
}

function data(row: LogRow): Record<string, unknown> | null {
  if (row.operation === 'gap') return { from: row.from, to: row.to };
  if (row.operation === 'rename') return { to: row.to };
  return row.after && toWire(readStored(row.after));
}

function thing(collection: string): string {
  const name = collection.slice(1);
  return name.endsWith('ies') ? `${name.slice(0, -3)}y` : name.replace(/s$/, '');
}

function activityType(after: Buffer | null): string {
  const type = after === null ? null : readStored(after)['type'];
  return typeof type === 'string' && ACTIVITY_TYPE.test(type) ? type : 'system.activity.created';
}

function changed(row: LogRow): string[] | null {
  if (row.operation !== 'update' && row.operation !== 'replace') return null;
  if (row.before !== null && row.after !== null) return rawDifference(row.before, row.after).filter(visible);
  if (row.update === null) return null;
  const paths = updatedPaths(row.update);
  return [...new Set(paths.map((path) => path.split('.', 1)[0] ?? path))].filter(visible);
}

const visible = (name: string) => name !== '_meta' && name !== '_id';

function actor(by: string | null): Event['actor'] {
  if (by === null) return null;
  const at = by.indexOf(':');
  return at < 0 ? { kind: by, id: '' } : { kind: by.slice(0, at), id: by.slice(at + 1) };
}
