/**
 * The words in which operations on documents are refused, in one place so that every way to the same fault says the
 * same. Not here: when they are refused (collections.ts).
 */
import type { Document } from 'mongodb';
import { duplicateKey, uniqueViolation } from '../database/errors.ts';
import { idText } from '../database/json/ids.ts';
import type { CollectionName } from '../database/names.ts';
import { MillraceError } from '../kernel/errors.ts';
import { hidesFields, isReadable } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';

/** A collection that was never created; the sentence is the customer's own (specification.md, section 7). */
export function notAvailable(name: CollectionName): MillraceError {
  return new MillraceError('resource-not-available', `Resource '${name}' is not available in the database`, {
    hint: `POST a JSON object to /api/${name} and it will be`,
  });
}

export function documentNotFound(name: CollectionName, id: string): MillraceError {
  return new MillraceError('document-not-found', `There is no document '${id}' in '${name}'`);
}

/** A document that changed under every one of our tries. */
export function tooBusy(id: string): MillraceError {
  return new MillraceError('contention', `The document '${id}' is being changed by too many writers`, {
    headers: { 'retry-after': '1' },
  });
}

/** An idempotency key whose first request has not ended yet. */
export function keyInUse(): MillraceError {
  return new MillraceError('key-in-use', 'A request with this Idempotency-Key is still running', {
    hint: 'Send the same request again in a moment',
    headers: { 'retry-after': '1' },
  });
}

/** Whether somebody was not let in: for lack of a credential, or of a policy. */
export function isAccessRefusal(error: unknown): boolean {
  return error instanceof MillraceError && (error.status === 401 || error.status === 403);
}

/**
 * What is told of a value that is taken already: the members of the index, unless the writer may not see one of them.
 * @param reader what the writer may read
 */
export function discreet(error: unknown, reader: Scope | null): unknown {
  if (!(error instanceof MillraceError) || error.code !== 'unique-violation') return error;
  if (reader !== null && !hidesFields(reader)) return error;
  const fields = violatedFields(error);
  if (reader !== null && fields.length > 0 && fields.every((path) => isReadable(reader, path))) return error;
  return new MillraceError('unique-violation', 'Another document has a value that must be unique', { cause: error });
}

/** The members of the index behind a refusal, however often it has been worded anew. */
function violatedFields({ cause }: Error): readonly string[] {
  return cause instanceof MillraceError ? violatedFields(cause) : (duplicateKey(cause)?.fields ?? []);
}

/** The refusal behind a duplicate key: of the id, or of another unique index. */
export function duplicate(error: unknown, document: Document | undefined): MillraceError {
  const fields = duplicateKey(error)?.fields ?? [];
  if (fields.length === 0 || fields[0] === '_id') {
    return new MillraceError('id-exists', `A document with the id '${idText(document?.['_id'])}' exists already`, {
      hint: 'PUT changes it; leave the id out to get a new one',
      cause: error,
    });
  }
  return uniqueViolation(fields, error);
}

/** Says which element of a request an error belongs to, by putting `pointer` before the places it names. */
export function at(pointer: string, error: unknown): unknown {
  if (!(error instanceof MillraceError)) return error;
  const faults = error.faults.length > 0 ? error.faults : [{ pointer: '', code: error.code, detail: error.message }];
  return new MillraceError(error.code, error.message, {
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    faults: faults.map((fault) => ({ ...fault, pointer: pointer + fault.pointer })),
    headers: error.headers,
    extensions: error.extensions,
    cause: error,
  });
}
