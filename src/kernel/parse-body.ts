/**
 * Checks a JSON body against its schema. The same schema gives the TypeScript type and stands in the contract. No value
 * is converted and no member dropped. Pure.
 */
import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Check, Errors } from 'typebox/schema';
import { type Fault, MillraceError } from './errors.ts';

const MAX_FAULTS = 10;

/**
 * The body, typed.
 * @throws MillraceError `body-required`, `invalid-body` with the place of each fault
 */
export function checked<T extends TSchema>(schema: T, body: unknown): Static<T> {
  if (body === undefined) {
    throw new MillraceError('body-required', 'A JSON body is required', { hint: 'Content-Type: application/json' });
  }
  if (Check(schema, body)) return body;
  const found = [...Errors(schema, body)[1]];
  const faults = found
    // It repeats, for the whole object, the faults that are reported for each unknown member.
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

/** The checker's keyword for a member that a closed object does not allow: its schema is `false`. */
const UNKNOWN = 'boolean';

function detailOf(error: TLocalizedValidationError): string {
  if (error.keyword === UNKNOWN) return 'is not known here';
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`;
  return error.message.slice(0, 200);
}
