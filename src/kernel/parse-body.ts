/**
 * Reads a JSON body by its schema: the same one is the check, the type and the contract. Nothing is coerced and nothing
 * dropped. Pure.
 */
import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Check, Errors } from 'typebox/schema';
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
  if (Check(schema, body)) return body;
  const found = [...Errors(schema, body)[1]];
  const faults = found
    // It names again what each unknown member is told of at its own place.
    .filter(({ keyword }) => keyword !== 'additionalProperties')
    .slice(0, MAX_FAULTS)
    .map((error): Fault => ({ pointer: error.instancePath, code: 'invalid-body', detail: detailOf(error) }));
  const [first] = faults;
  const message = `The body is not as expected: ${first?.pointer || '/'} ${first?.detail}`;
  const names = 'properties' in schema && typeof schema.properties === 'object' ? schema.properties : null;
  const strange = found.some(({ keyword, instancePath }) => keyword === UNKNOWN && instancePath.lastIndexOf('/') === 0);
  throw new MillraceError('invalid-body', message, {
    ...(strange && names !== null ? { hint: `Known: ${Object.keys(names).join(', ')}` } : {}),
    faults,
  });
}

/** Of a member that a closed object does not name, the checker says that the schema `false` does not take it. */
const UNKNOWN = 'boolean';

function detailOf(error: TLocalizedValidationError): string {
  if (error.keyword === UNKNOWN) return 'is not known here';
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`;
  return error.message.slice(0, 200);
}
