/**
 * The result of a hook: the documents to write instead, or nothing. Checked as strictly as a request body, except for
 * large integers: they come from JavaScript, so no digits were lost. Pure.
 */
import { fieldNameProblem, type JsonPath } from '../../database/json/json-errors.ts';
import { MAX_DOCUMENT_DEPTH } from '../../database/json/parse-json.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { isPlainObject } from '../../lib/plain-object.ts';

type Fields = Record<string, unknown>;

/** A result that is not a valid document. The message is for the author of the function. */
export class InvalidHookResultError extends Error {}

/**
 * @param text JSON text of an array with null for each unchanged document
 * @throws InvalidHookResultError
 */
export function parseHookResult(text: string, count: number): readonly (Fields | null)[] {
  const results: unknown = parseJsonExactNames(text);
  if (!Array.isArray(results) || results.length !== count)
    throw new InvalidHookResultError('The number of results differs from the number of writes');
  return results.map((result: unknown) => {
    if (result === null || result === undefined) return null;
    if (!isPlainObject(result))
      throw new InvalidHookResultError(
        'It did not return an object: return the document, or undefined to leave it unchanged',
      );
    if (Object.hasOwn(result, '_id'))
      throw new InvalidHookResultError('It returned a field "_id": the id is "id", and cannot be changed');
    check(result, []);
    return result;
  });
}

function check(value: unknown, path: JsonPath): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw unusable(path, 'contains a lone surrogate');
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= MAX_DOCUMENT_DEPTH) throw unusable(path, `is nested more than ${MAX_DOCUMENT_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) check(element, [...path, index]);
    return;
  }
  for (const [name, field] of Object.entries(value)) {
    const inside = [...path, name];
    const problem = fieldNameProblem(inside, name);
    if (problem !== null) throw new InvalidHookResultError(`It returned a value that cannot be stored: ${problem}`);
    check(field, inside);
  }
}

function unusable(path: JsonPath, what: string): InvalidHookResultError {
  return new InvalidHookResultError(
    `It returned a value that cannot be stored: the value at /${path.slice(0, 5).join('/')} ${what}`,
  );
}
