/** What the operations about accounts have in common: their refusals, their parameters, their pages. Pure. */
import type { ErrorCode } from '../../kernel/errors.ts';
import { BODY, type Operation, type OperationPlan, toOperation } from './operation.ts';
import { jsonBody, type Parameter } from './parameters.ts';
import { ref } from './shapes.ts';

const TAKING: readonly ErrorCode[] = [...BODY, 'invalid-body', 'not-acceptable', 'unknown-parameter'];
const ASKED: readonly ErrorCode[] = ['not-acceptable', 'unknown-parameter'];
const NONE = { 204: { description: 'Done.' } };

export const id = (name: string, what: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description: `Id of ${what}.`,
  schema: { type: 'string', minLength: 1, maxLength: 128 },
});
export const choice = (name: string, description: string, schema: object = { type: 'string' }): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});
export const PAGE = [
  choice('limit', 'How many at most.', { type: 'integer', minimum: 1, maximum: 1_000 }),
  choice('after', 'Goes on behind this one: `Millrace-Next` of the page before.'),
];
export const listed = (shape: string) => ({
  200: {
    description: 'A page.',
    schema: { type: 'array', items: ref(shape) },
    headers: ['Millrace-Next'],
  },
});

interface Plan extends Partial<Omit<OperationPlan, 'tag' | 'requestBody'>> {
  readonly operationId: string;
  readonly summary: string;
  readonly body?: object;
}

const operation =
  (tag: string) =>
  ({ body, errors = [], answers = NONE, ...plan }: Plan): Operation =>
    toOperation({
      tag,
      answers,
      errors: [...(body === undefined ? ASKED : TAKING), ...errors],
      ...(body === undefined ? {} : { requestBody: jsonBody(body) }),
      ...plan,
    });

export const signIn = operation('Sign-in');
export const admin = operation('Running it');
export const answer = (description: string, schema: object, status = 200) => ({ [status]: { description, schema } });
export const MISSING: readonly ErrorCode[] = ['document-not-found'];
export const NAMING: readonly ErrorCode[] = ['unique-violation', 'password-refused'];
