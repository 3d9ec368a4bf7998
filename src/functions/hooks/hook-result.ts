/**
 * The result of a hook: the documents to write instead, or nothing. Checked as strictly as a request body, except for
 * large integers: they come from JavaScript, so no digits were lost. Pure.
 */
import { keyProblem, type Path } from '../../database/json/json-errors.ts';
import { MAX_DEPTH } from '../../database/json/parse-json.ts';
import { parseExactJson } from '../../lib/exact-json.ts';
import { isPlain } from '../../lib/plain-object.ts';

type Fields = Record<string, unknown>;

/** A result that is not a valid document. The message is for the author of the function. */
export class UnusableResult extends Error {}

/**
 * @param text JSON text of an array with null for each unchanged document
 * @throws UnusableResult
 */
export function returnedFields(text: string, count: number): readonly (Fields | null)[] {
  const results: unknown = parseExactJson(text);
  if (!Array.isArray(results) || results.length !== count)
    throw new UnusableResult('The number of results differs from the number of writes');
  return results.map((result: unknown) => {
    if (result === null || result === undefined) return null;
    if (!isPlain(result))
      throw new UnusableResult('It did not return an object: return the document, or undefined to leave it unchanged');
    if (Object.hasOwn(result, '_id'))
      throw new UnusableResult('It returned a field "_id": the id is "id", and cannot be changed');
    check(result, []);
    return result;
  });
}

function check(value: unknown, path: Path): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw unusable(path, 'contains a lone surrogate');
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= MAX_DEPTH) throw unusable(path, `is nested more than ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) check(element, [...path, index]);
    return;
  }
  for (const [name, field] of Object.entries(value)) {
    const inside = [...path, name];
    const problem = keyProblem(inside, name);
    if (problem !== null) throw new UnusableResult(`It returned a value that cannot be stored: ${problem}`);
    check(field, inside);
  }
}

function unusable(path: Path, what: string): UnusableResult {
  return new UnusableResult(
    `It returned a value that cannot be stored: the value at /${path.slice(0, 5).join('/')} ${what}`,
  );
}
