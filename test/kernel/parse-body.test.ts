/** What is said of a body that is not as expected: in words that whoever wrote it can follow. */
import t from 'tap';
import Type from 'typebox';
import { MillraceError } from '../../src/kernel/errors.ts';
import { checked } from '../../src/kernel/parse-body.ts';

const SCHEMA = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    kind: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['user', 'owner'] })),
    inner: Type.Optional(Type.Object({ a: Type.Number() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
);

function refusalOf(body: unknown): MillraceError {
  try {
    checked(SCHEMA, body);
  } catch (error) {
    if (error instanceof MillraceError) return error;
  }
  throw new Error('It was taken');
}

t.test('a member that there is not', async (t) => {
  const { message, hint, faults } = refusalOf({ name: 'a', roles: ['admin'], nmae: 1 });
  t.equal(message, 'The body is not as expected: /roles is not known here');
  t.equal(hint, 'Known: name, kind, inner');
  t.strictSame(
    faults.map(({ pointer, detail }) => `${pointer} ${detail}`),
    ['/roles is not known here', '/nmae is not known here'],
  );
  const within = refusalOf({ name: 'a', inner: { a: 1, b: 2 } });
  t.equal(within.message, 'The body is not as expected: /inner/b is not known here');
  t.equal(within.hint, undefined, 'the names of the whole would mislead');
});

t.test('a value that is none of those there are', async (t) => {
  t.match(refusalOf({ name: 'a', kind: 'boss' }).message, /: \/kind must be one of user, owner$/);
});

t.test('whatever else is wrong', async (t) => {
  t.match(refusalOf({}).message, /: \/ must have required properties name$/);
  t.match(refusalOf([]).message, /: \/ must be object$/);
  t.match(refusalOf(undefined), { code: 'body-required' });
});
