/** A run as its routes answer it, as schemas. Not here: the operations (run-operations.ts). */
import Type from 'typebox';
import { nullable, shape, TIME } from '../../contract/schema.ts';
import { RUN_STATES } from '../runs/run.ts';
import { FUNCTION_KINDS } from '../sandbox/sandbox.ts';

const oneOf = (values: readonly string[], description: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], description });

const RUN = {
  id: Type.String(),
  plugin: Type.String(),
  function: Type.String({ description: 'Its name inside the plugin.' }),
  version: Type.String({ description: 'The version of the plugin that was run.' }),
  kind: oneOf(FUNCTION_KINDS, 'What the function is.'),
  state: oneOf(RUN_STATES, '`waiting`: for its first or its next attempt. `parked`: all attempts failed.'),
  createdAt: TIME,
  startedAt: nullable(TIME),
  durationMs: nullable(Type.Number()),
  cpuMs: nullable(Type.Number()),
  attempt: Type.Integer({ minimum: 0, description: '1 for the first.' }),
  event: nullable(Type.String({ description: 'Id of the event of a trigger.' })),
  error: nullable(
    Type.Object({
      code: Type.String(),
      message: Type.String(),
      stack: nullable(Type.String({ description: 'With the files and lines of the author.' })),
    }),
  ),
  restricted: Type.Boolean({
    description: 'Whether it may tell of accounts: then what it was given and said is for those who may read accounts.',
  }),
};

const LEVEL = oneOf(['info', 'warn', 'error'], 'Of the line.');

const position = (description: string) =>
  Type.String({ pattern: '^[1-9]\\d{0,14}-([1-9]\\d{0,14}|0)$', maxLength: 40, description });

/** The body of a replay. */
export const REPLAY_RANGE = Type.Object(
  {
    since: position('A position: events after it count.'),
    until: Type.Optional(position('The position of the last event; without it, the end of the log.')),
    types: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        minItems: 1,
        maxItems: 100,
        description: 'Only events of these types, in which `*` stands for anything.',
      }),
    ),
  },
  { additionalProperties: false },
);

export const REPLAYED_SHAPE = shape(
  'ReplayedRange',
  Type.Object({
    count: Type.Integer({ minimum: 0, description: 'Runs that were made.' }),
    position: Type.String({ description: 'The position up to which the log was read.' }),
    until: Type.String({ description: 'The last position of the range.' }),
    done: Type.Boolean({ description: 'False when the range goes on: ask again, with `position` as `since`.' }),
  }),
);

export const RUN_SHAPE = shape('Run', Type.Object(RUN));

export const WHOLE_RUN_SHAPE = shape(
  'WholeRun',
  Type.Object({
    ...RUN,
    logs: Type.Array(Type.Object({ at: TIME, level: LEVEL, text: Type.String() })),
    operations: Type.Array(
      Type.Object({
        operation: Type.String(),
        target: Type.String(),
        durationMs: Type.Number(),
        error: nullable(Type.String({ description: 'The code of the error.' })),
      }),
      { description: 'What the code asked the server to do, without values.' },
    ),
    input: nullable(Type.String({ description: 'JSON text; null when it was too long to be kept.' })),
    inputBytes: Type.Integer({ minimum: 0 }),
    result: nullable(
      Type.String({ description: 'JSON text; null when there is none, or it was too long to be kept.' }),
    ),
    resultBytes: Type.Integer({ minimum: 0 }),
  }),
);
