/**
 * What a function returned for the documents that it saw: members, or nothing. It is checked as strictly as the body of a request,
 * except for large whole numbers: they come from the code, so no digit was lost on the way here. Pure.
 */
import { keyProblem, type Path } from '../../../database/json/json-faults.ts';
import { MAX_DEPTH } from '../../../database/json/parse-json.ts';
import { parseExactJson } from '../../../kernel/exact-json.ts';
import { isPlain } from '../../../kernel/objects.ts';

type Members = Record<string, unknown>;

/** A result that cannot be the document. The message is for who writes the function. */
export class UnusableResult extends Error {}

/**
 * @param text JSON text of an array with null for each document that stays
 * @throws UnusableResult
 */
export function returnedMembers(text: string, count: number): readonly (Members | null)[] {
  const results: unknown = parseExactJson(text);
  if (!Array.isArray(results) || results.length !== count)
    throw new UnusableResult('There is not a result for each write');
  return results.map((result: unknown) => {
    if (result === null || result === undefined) return null;
    if (!isPlain(result))
      throw new UnusableResult('It returned no object: return the document, or undefined to leave it as it is');
    if (Object.hasOwn(result, '_id')) throw new UnusableResult('It returned a member "_id": the id is "id", and stays');
    check(result, []);
    return result;
  });
}

function check(value: unknown, path: Path): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw unusable(path, 'is text with a lone surrogate');
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= MAX_DEPTH) throw unusable(path, `is nested more than ${MAX_DEPTH} levels deep`);
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) check(element, [...path, index]);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    const inside = [...path, name];
    const problem = keyProblem(inside, name);
    if (problem !== null) throw new UnusableResult(`It returned what cannot be stored: ${problem}`);
    check(member, inside);
  }
}

function unusable(path: Path, what: string): UnusableResult {
  return new UnusableResult(`It returned what cannot be stored: the value at /${path.slice(0, 5).join('/')} ${what}`);
}
