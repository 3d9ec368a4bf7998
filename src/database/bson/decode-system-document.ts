/**
 * Reads documents of our own collections whose fields can have any name, such as claims and profiles. The driver's
 * reader is not used, because it makes a DBRef of every document with fields `$ref` and `$id`. Numbers are promoted to
 * those of JavaScript, as the driver does.
 */
import { type Document, Double, Int32, Long, Timestamp } from 'mongodb';
import { isPlainObject, setField } from '../../lib/plain-object.ts';
import { binaryToBuffer } from './raw-bson.ts';
import { decodeDocument } from './stored-document.ts';

/**
 * Reads a stored document; an integer beyond ±2^53 stays a Long.
 * @param raw bytes, as the driver returns them with `raw: true`
 * @throws TypeError for other input, MillraceError `internal` if the bytes are not a BSON document
 */
export function decodeSystemDocument(raw: unknown): Document {
  const bytes = binaryToBuffer(raw);
  if (bytes === null) throw new TypeError('The driver did not return raw BSON');
  return promotedFields(decodeDocument(bytes));
}

function promoted(value: unknown): unknown {
  if (value instanceof Int32 || value instanceof Double) return value.value;
  if (value instanceof Long && !(value instanceof Timestamp)) {
    return Number.isSafeInteger(value.toNumber()) ? value.toNumber() : value;
  }
  if (Array.isArray(value)) return value.map(promoted);
  return isPlainObject(value) ? promotedFields(value) : value;
}

function promotedFields(fields: Readonly<Record<string, unknown>>): Document {
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) setField(result, name, promoted(fields[name]));
  return result;
}
