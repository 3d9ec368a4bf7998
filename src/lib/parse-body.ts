/**
 * Validates a JSON body against its schema, which is also the TypeScript type and part of the OpenAPI document. No
 * value is converted and no field dropped.
 */
import type { Static, TSchema } from 'typebox';
import type { TLocalizedValidationError } from 'typebox/error';
import { Check, Errors } from 'typebox/schema';
import { type Issue, MillraceError } from './errors.ts';

const MAX_ISSUES = 10;

/** The body, typed. @throws MillraceError `body-required`, `invalid-body` with a JSON Pointer for each error */
export function validateBody<T extends TSchema>(schema: T, body: unknown): Static<T> {
  if (body === undefined) {
    throw new MillraceError('body-required', 'A JSON body is required', { hint: 'Content-Type: application/json' });
  }
  if (Check(schema, body)) return body;
  const found = [...Errors(schema, body)[1]];
  const issues = found
    // It repeats, for the whole object, the errors that are reported for each unknown field.
    .filter(({ keyword }) => keyword !== 'additionalProperties')
    .slice(0, MAX_ISSUES)
    .map((error): Issue => ({ pointer: error.instancePath, code: 'invalid-body', detail: detailOf(error) }));
  const [first] = issues;
  const message = `The body is invalid: ${first?.pointer || '/'} ${first?.detail}`;
  const names = 'properties' in schema && typeof schema.properties === 'object' ? schema.properties : null;
  const strange = found.some(({ keyword, instancePath }) => keyword === UNKNOWN && instancePath.lastIndexOf('/') === 0);
  throw new MillraceError('invalid-body', message, {
    ...(strange && names !== null ? { hint: `Known: ${Object.keys(names).join(', ')}` } : {}),
    issues,
  });
}

/** The checker's keyword for a field that a closed object does not allow: its schema is `false`. */
const UNKNOWN = 'boolean';

function detailOf(error: TLocalizedValidationError): string {
  if (error.keyword === UNKNOWN) return 'is not known here';
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`;
  return error.message.slice(0, 200);
}
