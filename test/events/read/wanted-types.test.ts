/** The event types that clients ask for: which can exist, what is said of the others, and how patterns match. */
import t from 'tap';
import { requireTypes, systemTypesOf, wanting } from '../../../src/events/read/wanted-types.ts';
import { MillraceError } from '../../../src/kernel/errors.ts';
import { SYSTEM_TYPES } from '../../../src/kernel/event-types.ts';

t.test('a star in a wanted type stands for anything', async (t) => {
  t.ok(wanting(['a.b', 'system.file.*'])('system.file.created'));
  t.ok(wanting(['*'])('x.created'));
  t.ok(wanting(['*.created'])('x.created'));
  t.ok(wanting(['a*b*c'])('aXbYc'));
  t.notOk(wanting(['a*b*c'])('acb'));
  t.notOk(wanting(['ab*ba'])('aba'), 'parts do not overlap');
  t.notOk(wanting(['todos'])('todos.created'));
  const started = performance.now();
  t.notOk(wanting([`${'a*'.repeat(99)}b`])('a'.repeat(200)));
  t.ok(performance.now() - started < 50, 'however it is written');
});

t.test('a type that comes again is not compared again', async (t) => {
  const wants = wanting([...Array.from({ length: 49 }, (_, n) => `${n}${'*a'.repeat(95)}`), 'todos.*']);
  const started = performance.now();
  for (let n = 0; n < 100_000; n++) if (wants('others.created') || !wants('todos.created')) t.fail('a wrong answer');
  t.ok(performance.now() - started < 2_000, 'among fifty patterns');
  const types = Array.from({ length: 3_000 }, (_, n) => (n % 2 === 0 ? 'todos.created' : `todos${n}.created`));
  t.strictSame([...new Set(types.filter(wants))], ['todos.created'], 'among more types than are kept');
});

/** The hint of the refusal; null when it is a type that there may be. */
function refusal(type: string): string | null {
  try {
    requireTypes(['todos.created', type]);
    return null;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invalid-parameter') return error.hint ?? '';
    throw error;
  }
}

t.test('a type that events may have is taken', async (t) => {
  const types = [
    'todos.created',
    'a.b.renamed',
    '*',
    'todos*',
    'todos.*',
    '*.deleted',
    't*d',
    's*',
    'system.*',
    '_x.created',
  ];
  for (const type of [...types, 'system.file.*', 'system.*.created', '*rotated', ...SYSTEM_TYPES.keys()])
    t.equal(refusal(type), null, type);
});

t.test('a type that no event ever has is refused, and the nearest one is named', async (t) => {
  for (const [type, near] of [
    ['todos', 'todos.*'],
    ['todos.create', 'todos.created'],
    ['todos.creatd', 'todos.created'],
    ['system.file.create', 'system.file.created'],
    ['system.auth.faild', 'system.auth.failed'],
    ['system.fil.*', 'system.file.*'],
    ['system.keyring.rotated', 'system.key-ring.rotated'],
  ] as const)
    t.equal(refusal(type), `Did you mean '${near}'?`, type);
  for (const type of ['created', '.created', 'todos.created.', 'system', 'system.created', '*.creatd', 'system.x.*'])
    t.type(refusal(type), 'string', type);
  t.match(refusal(`system.${'z'.repeat(40)}`), /^Types are todos\.created, /);
});

t.test('a pattern means types of the system', async (t) => {
  t.strictSame(systemTypesOf('system.log.*'), ['system.log.refused', 'system.log.gap']);
  t.strictSame(systemTypesOf('todos.*'), []);
});
