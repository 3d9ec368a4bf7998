/**
 * Samples of events that never happened, made from documents: for a collection whose log has no such event any more, so that
 * whoever maps the members of events has one to look at. Pure. Not here: events of the log (samples.ts).
 */
import { NO_TIME } from '../../database/bson/raw.ts';
import { encodeStored, readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import type { CollectionName } from '../../database/names.ts';
import { EMPTY_ROW, type LogRow, type RowOperation } from '../../events/log/row.ts';
import { toBody } from '../../events/read/event-body.ts';
import { wanting } from '../../events/read/wanted-types.ts';
import { isPlain } from '../../kernel/objects.ts';
import { SERVER_MEMBERS } from '../../kernel/server-members.ts';

/** What happens to documents, as types of events and as rows of the log tell it; the likeliest first. */
const CHANGES = [
  ['created', 'insert'],
  ['updated', 'update'],
  ['deleted', 'delete'],
] as const satisfies readonly (readonly [string, RowOperation])[];

export interface SampleOf {
  readonly collection: CollectionName;
  /** An event type, in which `*` stands for anything. */
  readonly type: string;
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
  readonly now: Date;
}

/**
 * An event of this type for each document, in the form in which it would be delivered. Its id says that it is a sample.
 * @param documents stored, already cut to what the reader may see
 * @returns none for a type that no document has, such as `todos.dropped`
 */
export function madeSamples(documents: readonly Uint8Array[], sample: SampleOf): readonly object[] {
  const wants = wanting([sample.type]);
  const change = CHANGES.find(([verb]) => wants(`${sample.collection}.${verb}`));
  return change === undefined ? [] : documents.flatMap((raw) => madeSample(Buffer.from(raw), change[1], sample) ?? []);
}

function madeSample(raw: Buffer, operation: (typeof CHANGES)[number][1], sample: SampleOf): object | null {
  const { collection, publicUrl, now } = sample;
  const document = readStored(raw);
  const { _id, _meta } = document;
  const meta: Record<string, unknown> = isPlain(_meta) ? _meta : {};
  // Who made the last change is who makes this one.
  const { by, [operation === 'insert' ? 'createdAt' : 'updatedAt']: wall } = meta;
  const row: LogRow = {
    ...EMPTY_ROW,
    number: 0,
    epoch: 0,
    token: '',
    time: NO_TIME,
    wall: wall instanceof Date ? wall : now,
    operation,
    collection,
    key: _id === undefined ? null : Buffer.from(encodeStored({ _id })),
    after: operation === 'delete' ? null : raw,
    before: operation === 'insert' ? null : raw,
    by: typeof by === 'string' ? by : null,
  };
  const body = toBody(row, publicUrl);
  if (body === null) return null;
  const event: Record<string, unknown> = JSON.parse(body);
  // Nothing has changed: the names of the members show what may be there.
  const changed = Object.keys(document).filter((name) => !SERVER_MEMBERS.has(name));
  return { ...event, id: `sample_${idText(_id)}`, ...(operation === 'update' ? { changed } : {}) };
}
