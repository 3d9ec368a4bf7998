/**
 * The event as clients see it, built from a row: its type, its actor, the states before and after as JSON values.
 * Sockets, feeds, webhooks, functions and audit use the same envelope.
 */
import { changedFieldNames } from '../../database/bson/raw-bson.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import { encodeDocumentJson, toWireDocument } from '../../database/json/json.ts';
import { storedRevision } from '../../database/json/transcode-document.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import {
  EVENT_VERBS,
  type EventVerb,
  internalFields,
  isAuditEventType,
  isSystemCollection,
  SYSTEM_COLLECTIONS,
  type SystemEventType,
} from '../../lib/event-types.ts';
import type { LogRow, RowOperation } from './log-row.ts';
import { formatPosition } from './position.ts';
import { updatedPaths } from './updated-paths.ts';

export interface Event {
  /** The event's position in the log, `<epoch>-<number>`. */
  readonly id: string;
  /** `todos.created`, `system.file.deleted`. */
  readonly type: string;
  /** When the database made the change, ISO 8601. */
  readonly timestamp: string;
  /** Null for system events. */
  readonly collection: string | null;
  readonly documentId: string | null;
  readonly revision: number | null;
  /** Top-level names with a changed value; null on create and delete, and if a state is unknown. */
  readonly changed: readonly string[] | null;
  readonly actor: { readonly kind: string; readonly id: string } | null;
  readonly request: string | null;
  /** The same for all events of one database transaction. */
  readonly transaction: string | null;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly before: Readonly<Record<string, unknown>> | null;
}

const VERB_OF = {
  insert: 'created',
  update: 'updated',
  replace: 'updated',
  delete: 'deleted',
  drop: 'dropped',
  rename: 'renamed',
  // Schema changes, starts and resets are no events.
  create: null,
  dropDatabase: null,
  invalidate: null,
  meta: null,
  start: null,
  reset: null,
  gap: null,
} as const satisfies Readonly<Record<RowOperation, EventVerb | null>>;

/** The event type of a row, or null if the row is not an event. */
export function eventType(row: LogRow): string | null {
  const { operation, collection } = row;
  const verb = VERB_OF[operation];
  if (verb !== null && collection !== null && !isSystemCollection(collection)) return `${collection}.${verb}`;
  return systemEventType(row);
}

/** The event type of a system row; null for every other row. */
export function systemEventType(row: LogRow): SystemEventType | null {
  const { operation, collection } = row;
  if (operation === 'gap') return 'system.event-log.gap';
  const verb = VERB_OF[operation];
  if (verb === null || collection === null || !isSystemCollection(collection)) return null;
  const mayName = collection === '_activity' && operation === 'insert' && row.after !== null;
  const occurrence = mayName && decodeDocument(row.after)['type'];
  if (typeof occurrence === 'string' && isAuditEventType(occurrence)) return occurrence;
  return `system.${SYSTEM_COLLECTIONS[collection].thing}.${verb}`;
}

/** The event types of a collection. */
export function collectionEventTypes(collection: CollectionName): string[] {
  return Object.keys(EVENT_VERBS).map((verb) => `${collection}.${verb}`);
}

/** The event of a row, or null if the row is not an event. Every call creates a new object. */
export function toEvent(row: LogRow): Event | null {
  const envelope = toEventEnvelope(row);
  if (envelope === null) return null;
  return { ...envelope, data: eventData(row), before: eventBefore(row) };
}

/**
 * The event as JSON, in the same form: its states become text without intermediate objects.
 * @param envelope of the same row, if known
 */
export function encodeEvent(row: LogRow, envelope = toEventEnvelope(row)): Buffer | null {
  if (envelope === null) return null;
  const reported = notOfDocuments(row);
  const after = reported === null ? row.after && encodeDocumentJson(row.after) : Buffer.from(JSON.stringify(reported));
  const head = Buffer.from(`${JSON.stringify(envelope).slice(0, -1)},"data":`);
  const before = row.before && encodeDocumentJson(row.before);
  return Buffer.concat([head, after ?? NULL, BEFORE, before ?? NULL, END]);
}

const NULL = Buffer.from('null');
const BEFORE = Buffer.from(',"before":');
const END = Buffer.from('}');

export type EventEnvelope = Omit<Event, 'data' | 'before'>;

/** The event without its states, which may be large. It can yield while these are compared. */
export function toEventEnvelope(row: LogRow): EventEnvelope | null {
  const type = eventType(row);
  if (type === null) return null;
  const document = row.after ?? row.before;
  const system = row.collection === null || isSystemCollection(row.collection);
  return {
    id: formatPosition(row),
    type,
    timestamp: row.wall.toISOString(),
    collection: system ? null : row.collection,
    documentId: row.key && idText(decodeDocument(row.key)['_id']),
    revision: row.key && document ? storedRevision(document) : null,
    changed: changed(row),
    actor: actor(row.by),
    request: row.request,
    transaction: row.transaction?.id ?? null,
  };
}

/** The state after, or the other content of an event without a document. It can yield. */
export function eventData(row: LogRow): Event['data'] {
  return notOfDocuments(row) ?? (row.after && toWireDocument(decodeDocument(row.after)));
}

/** The state before. It can yield. */
export function eventBefore(row: LogRow): Event['before'] {
  return row.before && toWireDocument(decodeDocument(row.before));
}

/** The event as a document for filters: its id has the field name of a stored document's id. */
export function toFilterableEvent(row: LogRow): Readonly<Record<string, unknown>> {
  const envelope = toEventEnvelope(row);
  return { ...envelope, data: eventData(row), before: eventBefore(row), _id: envelope?.id };
}

/** The content of a row's event that is not about a document. */
function notOfDocuments(row: LogRow): Record<string, unknown> | null {
  if (row.operation === 'gap') return { from: row.from, to: row.to };
  return row.operation === 'rename' ? { to: row.to } : null;
}

function changed(row: LogRow): string[] | null {
  if (row.operation !== 'update' && row.operation !== 'replace') return null;
  if (row.before !== null && row.after !== null) return changedFieldNames(row.before, row.after).filter(visible);
  if (row.update === null) return null;
  const paths = updatedPaths(row.update);
  const internal = internalFields(row.collection);
  const names = new Set(paths.map((path) => path.split('.', 1)[0] ?? path));
  return [...names].filter((name) => visible(name) && !internal.has(name));
}

const visible = (name: string) => name !== '_meta' && name !== '_id';

function actor(by: string | null): Event['actor'] {
  if (by === null) return null;
  const at = by.indexOf(':');
  return at < 0 ? { kind: by, id: '' } : { kind: by.slice(0, at), id: by.slice(at + 1) };
}
