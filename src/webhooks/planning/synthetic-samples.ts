/**
 * Builds sample events from documents, for a collection whose log has no event of the type, so that automation services
 * have fields to map.
 */
import { ZERO_TIMESTAMP } from '../../database/bson/raw-bson.ts';
import { decodeDocument, encodeBsonDocument } from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { LOG_ROW_DEFAULTS, type LogRow, type RowOperation } from '../../events/log/log-row.ts';
import { encodeEventBody } from '../../events/read/event-body.ts';
import { eventTypeMatcher } from '../../events/read/type-patterns.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { SERVER_FIELDS } from '../../lib/server-fields.ts';

/** Event actions and their log operations, the likeliest first. */
const CHANGES = [
  ['created', 'insert'],
  ['updated', 'update'],
  ['deleted', 'delete'],
] as const satisfies readonly (readonly [string, RowOperation])[];

export interface SampleEventOptions {
  readonly collection: CollectionName;
  /** An event type; `*` is a wildcard. */
  readonly type: string;
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
  readonly now: Date;
}

/**
 * An event of this type for each document, in delivered form. Its id marks it as a sample.
 * @param documents stored documents, already redacted for the reader
 * @returns none for a type that no document has, such as `todos.dropped`
 */
export function createSampleEvents(documents: readonly Uint8Array[], sample: SampleEventOptions): readonly object[] {
  const wants = eventTypeMatcher([sample.type]);
  const change = CHANGES.find(([verb]) => wants(`${sample.collection}.${verb}`));
  return change === undefined
    ? []
    : documents.flatMap((raw) => createdSample(Buffer.from(raw), change[1], sample) ?? []);
}

function createdSample(raw: Buffer, operation: (typeof CHANGES)[number][1], sample: SampleEventOptions): object | null {
  const { collection, publicUrl, now } = sample;
  const document = decodeDocument(raw);
  const { _id, _meta } = document;
  const meta: Record<string, unknown> = isPlainObject(_meta) ? _meta : {};
  // The last writer of the document is the author of the sample.
  const { by, [operation === 'insert' ? 'createdAt' : 'updatedAt']: wall } = meta;
  const row: LogRow = {
    ...LOG_ROW_DEFAULTS,
    number: 0,
    epoch: 0,
    token: '',
    time: ZERO_TIMESTAMP,
    wall: wall instanceof Date ? wall : now,
    operation,
    collection,
    key: _id === undefined ? null : Buffer.from(encodeBsonDocument({ _id })),
    after: operation === 'delete' ? null : raw,
    before: operation === 'insert' ? null : raw,
    by: typeof by === 'string' ? by : null,
  };
  const body = encodeEventBody(row, publicUrl);
  if (body === null) return null;
  const event = parseJsonExactNames(body) as Record<string, unknown>;
  // Nothing has changed: the field names show what may be there.
  const changed = Object.keys(document).filter((name) => !SERVER_FIELDS.has(name));
  return { ...event, id: `sample_${idText(_id)}`, ...(operation === 'update' ? { changed } : {}) };
}
