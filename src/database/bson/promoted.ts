/**
 * Reads documents of our own collections that have members with free names, such as claims and profiles. The driver's
 * reader is not used, because the driver makes a DBRef of every document with members `$ref` and `$id`. Numbers are
 * promoted to those of JavaScript, as the driver does. Not here: documents of clients, whose numbers keep their types
 * (stored.ts).
 */
import { type Document, Double, Int32, Long, Timestamp } from 'mongodb';
import { isPlain, setMember } from '../../kernel/objects.ts';
import { binary } from './raw.ts';
import { readStored } from './stored.ts';

/**
 * Reads a stored document; an integer beyond ±2^53 stays a Long.
 * @param raw bytes, as the driver gives them with `raw: true`
 * @throws TypeError when it is something else, MillraceError `internal` when the bytes are not a BSON document
 */
export function readPromoted(raw: unknown): Document {
  const bytes = binary(raw);
  if (bytes === null) throw new TypeError('The driver did not answer with raw BSON');
  return promotedMembers(readStored(bytes));
}

function promoted(value: unknown): unknown {
  if (value instanceof Int32 || value instanceof Double) return value.value;
  if (value instanceof Long && !(value instanceof Timestamp)) {
    return Number.isSafeInteger(value.toNumber()) ? value.toNumber() : value;
  }
  if (Array.isArray(value)) return value.map(promoted);
  return isPlain(value) ? promotedMembers(value) : value;
}

function promotedMembers(members: Readonly<Record<string, unknown>>): Document {
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(members)) setMember(result, name, promoted(members[name]));
  return result;
}
