/** Errors of document operations: the same cause gets the same wording everywhere. */
import type { Document } from 'mongodb';
import { duplicateKey, rejectingIndexFields, uniqueViolation } from '../database/errors.ts';
import { idText } from '../database/json/ids.ts';
import {
  type CollectionName,
  type ForeignCollectionName,
  isCollectionName,
} from '../database/parse-collection-name.ts';
import { MillraceError } from '../lib/errors.ts';
import type { Scope } from '../policies/scope.ts';
import { hidesFields, isFieldReadable } from '../policies/scope-filter.ts';

/** The error for a collection that was never created. */
export function collectionNotAvailable(name: CollectionName | ForeignCollectionName): MillraceError {
  return new MillraceError('resource-not-available', `Resource '${name}' is not available in the database`, {
    ...(isCollectionName(name) ? { hint: `POST a JSON object to /api/${name} and it will be` } : {}),
  });
}

export function documentNotFound(name: CollectionName, id: string): MillraceError {
  return new MillraceError('document-not-found', `There is no document '${id}' in '${name}'`);
}

/** The error for a document that other writes changed during each attempt. */
export function documentTooBusy(id: string): MillraceError {
  return new MillraceError('write-conflict', `The document '${id}' is being changed by too many writers`, {
    headers: { 'retry-after': '1' },
  });
}

/** An idempotency key whose first request has not finished yet. */
export function idempotencyKeyInUse(): MillraceError {
  return new MillraceError('idempotency-key-in-use', 'A request with this Idempotency-Key is still running', {
    hint: 'Send the same request again in a moment',
    headers: { 'retry-after': '1' },
  });
}

/** True if access was denied: without a credential, or because no policy allows it. */
export function isAccessDenied(error: unknown): boolean {
  return error instanceof MillraceError && (error.status === 401 || error.status === 403);
}

/**
 * Cuts the error of a duplicate value, or of a value that an index cannot hold: it names the fields of the index only
 * if the writer can read all of them.
 * @param reader what the writer can read
 */
export function redactIndexError(error: unknown, reader: Scope<'read'> | null): unknown {
  if (!(error instanceof MillraceError)) return error;
  const isUnique = error.code === 'unique-violation';
  const refused = isUnique ? [] : rejectingIndexFields(error);
  if (!isUnique && refused.length === 0) return error;
  if (reader !== null && !hidesFields(reader)) return error;
  const fields = isUnique ? violatedFields(error) : refused;
  if (reader !== null && fields.length > 0 && fields.every((path) => isFieldReadable(reader, path))) return error;
  if (!isUnique)
    return new MillraceError(error.code, 'An index of the collection cannot contain this document', { cause: error });
  return new MillraceError('unique-violation', 'Another document has a value that must be unique', { cause: error });
}

/** The fields of the index that rejected the write, also after the error was reworded. */
function violatedFields({ cause }: Error): readonly string[] {
  return cause instanceof MillraceError ? violatedFields(cause) : (duplicateKey(cause)?.fields ?? []);
}

/** The error for a duplicate key: of the id, or of another unique index. */
export function duplicateKeyError(error: unknown, document: Document | undefined): MillraceError {
  const fields = duplicateKey(error)?.fields ?? [];
  if (fields.length === 0 || fields[0] === '_id') {
    return new MillraceError('id-exists', `A document with the id '${idText(document?.['_id'])}' already exists`, {
      hint: 'PUT changes it; leave the id out to get a new one',
      cause: error,
    });
  }
  return uniqueViolation(fields, error);
}
