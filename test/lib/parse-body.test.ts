/** The error messages for an invalid body. */
import t from 'tap';
import Type from 'typebox';
import { MillraceError } from '../../src/lib/errors.ts';
import { validateBody } from '../../src/lib/parse-body.ts';

const SCHEMA = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    kind: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['user', 'admin'] })),
    inner: Type.Optional(Type.Object({ a: Type.Number() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

function refusalOf(body: unknown): MillraceError {
  try {
    validateBody(SCHEMA, body);
  } catch (error) {
    if (error instanceof MillraceError) return error;
  }
  throw new Error('It was taken');
}

t.test('an unknown field is reported with its pointer', async (t) => {
  const { message, hint, issues } = refusalOf({ name: 'a', roles: ['admin'], nmae: 1 });
  t.equal(message, 'The body is invalid: /roles is not known here');
  t.equal(hint, 'Known: name, kind, inner');
  t.strictSame(
    issues.map(({ pointer, detail }) => `${pointer} ${detail}`),
    ['/roles is not known here', '/nmae is not known here'],
  );
  const within = refusalOf({ name: 'a', inner: { a: 1, b: 2 } });
  t.equal(within.message, 'The body is invalid: /inner/b is not known here');
  t.equal(within.hint, undefined, 'the names of the whole would mislead');
});

t.test('a value outside of an enum is reported with the allowed ones', async (t) => {
  t.match(refusalOf({ name: 'a', kind: 'boss' }).message, /: \/kind must be one of user, admin$/);
});

t.test('a missing field, another type and a missing body are reported', async (t) => {
  t.match(refusalOf({}).message, /: \/ must have required properties name$/);
  t.match(refusalOf([]).message, /: \/ must be object$/);
  t.match(refusalOf(undefined), { code: 'body-required' });
});
