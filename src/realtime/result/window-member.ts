/** A document as an entry of a window, and the memory that it uses there. */
import type { Document } from 'mongodb';
import { retainedSize } from '../../database/bson/retained-size.ts';
import { idText } from '../../database/json/ids.ts';
import type { SortKeyValues } from '../../query/page/sort.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import type { LiveQuerySpec } from './live-query-spec.ts';
import { documentIdKey } from './log-row-view.ts';
import type { WindowMember } from './query-window.ts';

/** A document as an entry of its query's window. */
export function toWindowMember(document: Document, { sort }: LiveQuerySpec): WindowMember {
  const id: unknown = document['_id'];
  const [text, key] = [idText(id), sortKeyOf(document, sort)];
  return { identity: documentIdKey(id), text, id, key, bytes: windowMemberBytes(text, id, key) };
}

/** Bytes of an entry of a window, with its slots in maps and lists. */
const FIELD_BYTES = 300;

/** Bytes of an entry of a window. @param text the id as clients see it */
export function windowMemberBytes(text: string, id: unknown, key: SortKeyValues | null): number {
  // The id as text is stored twice: for clients, and as a part of the identity.
  return FIELD_BYTES + 4 * text.length + retainedSize(id) + retainedSize(key);
}
