/**
 * Reads a JSON body by its schema: the same one is the check, the type and the contract. Nothing is coerced and nothing
 * dropped. Pure.
 */
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { type Fault, MillraceError } from './errors.ts';

const MAX_FAULTS = 10;

/**
 * The body, typed.
 * @throws MillraceError `body-required`, `invalid-body` with the places
 */
export function checked<T extends TSchema>(schema: T, body: unknown): Static<T> {
  if (body === undefined) {
    throw new MillraceError('body-required', 'A JSON body is required', { hint: 'Content-Type: application/json' });
  }
  if (Value.Check(schema, body)) return body;
  const faults = [...Value.Errors(schema, body)].slice(0, MAX_FAULTS).map(
    ({ instancePath, message }): Fault => ({
      pointer: instancePath,
      code: 'invalid-body',
      detail: sentence(message),
    }),
  );
  const [first] = faults;
  throw new MillraceError('invalid-body', `The body is not as expected: ${first?.pointer || '/'} ${first?.detail}`, {
    faults,
  });
}

function sentence(text: string): string {
  return text.slice(0, 200);
}
