/** A document as a member of a window, and the memory that it takes there. Not here: the window (window.ts). */
import type { Document } from 'mongodb';
import { heldBytes } from '../../database/bson/held-bytes.ts';
import { idText } from '../../database/json/ids.ts';
import type { KeyValues } from '../../query/page/sort.ts';
import { sortKeyOf } from '../../query/page/sort-key.ts';
import type { LiveQuestion } from './live-question.ts';
import { identityOf } from './row-view.ts';
import type { WindowMember } from './window.ts';

/** A document as a member of its question's window. */
export function toMember(document: Document, { sort }: LiveQuestion): WindowMember {
  const id: unknown = document['_id'];
  const [text, key] = [idText(id), sortKeyOf(document, sort)];
  return { identity: identityOf(id), text, id, key, bytes: memberBytes(text, id, key) };
}

/** Bytes of an entry of a window, with its places in maps and lists. */
const MEMBER_BYTES = 300;

/** Bytes of an entry of a window. @param text the id as clients see it */
export function memberBytes(text: string, id: unknown, key: KeyValues | null): number {
  // The id as text is held twice: for clients, and as a part of the identity.
  return MEMBER_BYTES + 4 * text.length + heldBytes(id) + heldBytes(key);
}
