/** A document as an entry of a window, and the memory that it uses there. */
import { BSON, type Document } from 'mongodb';
import { idText } from '../../database/json/ids.ts';
import type { SortKeyValues } from '../../query/page/sort.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import type { LiveQuerySpec } from './live-query-spec.ts';
import { documentIdentity } from './log-row-view.ts';
import type { WindowMember } from './query-window.ts';

/** A document as an entry of its query's window. */
export function toWindowMember(document: Document, { sort }: LiveQuerySpec): WindowMember {
  const id: unknown = document['_id'];
  const [text, key] = [idText(id), sortKeyOf(document, sort)];
  return { identity: documentIdentity(id), text, id, key, bytes: windowMemberBytes(text, id, key) };
}

/** Bytes of an entry of a window, with its slots in maps and lists. */
const FIELD_BYTES = 300;

/** Bytes of an entry of a window. @param text the id as clients see it */
export function windowMemberBytes(text: string, id: unknown, key: SortKeyValues | null): number {
  // The id as text is stored twice: for clients, and as a part of the identity.
  return FIELD_BYTES + 4 * text.length + retainedSize(id) + retainedSize(key);
}

/** Bytes for a number, a date, an id or another small object, with its slot in a list. */
const VALUE_BYTES = 48;

/**
 * The approximate number of bytes that a value uses after its document is released, rather too high than too low:
 * strings count as UTF-16. Bytes that are a view into a larger buffer are copied, so that they do not retain it.
 */
function retainedSize(value: unknown): number {
  if (typeof value === 'string') return VALUE_BYTES + 2 * value.length;
  if (typeof value !== 'object' || value === null) return VALUE_BYTES;
  if (value instanceof Uint8Array) return VALUE_BYTES + value.length;
  if (value instanceof BSON.Binary && value.buffer.buffer.byteLength > value.buffer.length) {
    value.buffer = Uint8Array.from(value.buffer);
  }
  let sum = VALUE_BYTES;
  if (value instanceof Map) for (const [name, field] of value) sum += retainedSize(name) + retainedSize(field);
  else for (const [name, field] of Object.entries(value)) sum += 2 * name.length + retainedSize(field);
  return sum;
}
