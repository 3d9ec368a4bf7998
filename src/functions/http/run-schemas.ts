/** Schemas of runs. */
import Type from 'typebox';
import { DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import { RUN_STATES } from '../runs/run.ts';
import { FUNCTION_KINDS } from '../sandbox/sandbox.ts';

const oneOf = (values: readonly string[], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description });

const RUN = {
  id: Type.String(),
  plugin: Type.String(),
  function: Type.String({ description: 'Its name inside the plugin.' }),
  version: Type.String({ description: 'The version of the plugin that ran.' }),
  kind: oneOf(FUNCTION_KINDS, 'The kind of the function.'),
  state: oneOf(
    RUN_STATES,
    '`pending`: before its first or its next attempt. `failed`: after its last attempt. `skipped`: it would have overlapped an earlier run, or made a chain of triggers too long.',
  ),
  createdAt: DATE_TIME_SCHEMA,
  startedAt: nullable(DATE_TIME_SCHEMA),
  durationMs: nullable(Type.Number()),
  cpuMs: nullable(Type.Number()),
  attempts: Type.Integer({ minimum: 0, description: 'How many attempts have begun.' }),
  event: nullable(Type.String({ description: 'Id of the event of a trigger.' })),
  error: nullable(
    Type.Object({
      code: Type.String(),
      message: Type.String(),
      stack: nullable(Type.String({ description: 'With file names and lines of the author.' })),
    }),
  ),
  restricted: Type.Boolean({
    description: 'Whether it may contain user data: then input, result and log require the right to read users.',
  }),
};

const LEVEL = oneOf(['info', 'warn', 'error'], 'Severity of the line.');

const position = (description: string) =>
  Type.String({ pattern: '^[1-9]\\d{0,14}-([1-9]\\d{0,14}|0)$', maxLength: 40, description });

/** The body of a replay. */
export const TRIGGER_REPLAY_BODY = Type.Object(
  {
    since: position('A position: the range starts after it.'),
    until: Type.Optional(position('The position of the last event; by default the end of the log.')),
    types: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Only events of these types; `*` is a wildcard.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const TRIGGER_REPLAY_SHAPE = namedSchema(
  'TriggerReplay',
  Type.Object({
    count: Type.Integer({ minimum: 0, description: 'The number of created runs.' }),
    position: Type.String({ description: 'The position up to which the log was read.' }),
    until: Type.String({ description: 'The last position of the range.' }),
    done: Type.Boolean({ description: 'False if the range continues: repeat the request with `position` as `since`.' }),
  }),
);

export const RUN_SHAPE = namedSchema('FunctionRun', Type.Object(RUN));

export const RUN_DETAILS_SHAPE = namedSchema(
  'FunctionRunDetails',
  Type.Object({
    ...RUN,
    logs: Type.Array(Type.Object({ at: DATE_TIME_SCHEMA, level: LEVEL, text: Type.String() })),
    operations: Type.Array(
      Type.Object({
        operation: Type.String(),
        target: Type.String(),
        durationMs: Type.Number(),
        error: nullable(Type.String({ description: 'The code of the error.' })),
      }),
      { description: 'The operations that the code called, without values.' },
    ),
    input: nullable(Type.String({ description: 'JSON text; null if it was too long to store.' })),
    inputBytes: Type.Integer({ minimum: 0 }),
    result: nullable(Type.String({ description: 'JSON text; null if there is none or it was too long to store.' })),
    resultBytes: Type.Integer({ minimum: 0 }),
  }),
);
