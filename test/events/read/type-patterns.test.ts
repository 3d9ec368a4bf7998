/** The event types that clients request: which can exist, the errors of the others, and how patterns match. */
import t from 'tap';
import { eventTypeMatcher, matchingSystemTypes, requireEventTypes } from '../../../src/events/read/type-patterns.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { SYSTEM_EVENT_TYPES } from '../../../src/lib/event-types.ts';

t.test('an asterisk in an event type is a wildcard', async (t) => {
  t.ok(eventTypeMatcher(['a.b', 'system.file.*'])('system.file.created'));
  t.ok(eventTypeMatcher(['*'])('x.created'));
  t.ok(eventTypeMatcher(['*.created'])('x.created'));
  t.ok(eventTypeMatcher(['a*b*c'])('aXbYc'));
  t.notOk(eventTypeMatcher(['a*b*c'])('acb'));
  t.notOk(eventTypeMatcher(['ab*ba'])('aba'), 'parts do not overlap');
  t.notOk(eventTypeMatcher(['todos'])('todos.created'));
  const started = performance.now();
  t.notOk(eventTypeMatcher([`${'a*'.repeat(99)}b`])('a'.repeat(200)));
  t.ok(performance.now() - started < 50, 'however it is written');
});

t.test('a repeated type is not compared again', async (t) => {
  const wants = eventTypeMatcher([...Array.from({ length: 49 }, (_, n) => `${n}${'*a'.repeat(95)}`), 'todos.*']);
  const started = performance.now();
  for (let n = 0; n < 100_000; n++) if (wants('others.created') || !wants('todos.created')) t.fail('a wrong answer');
  t.ok(performance.now() - started < 2_000, 'among fifty patterns');
  const types = Array.from({ length: 3_000 }, (_, n) => (n % 2 === 0 ? 'todos.created' : `todos${n}.created`));
  t.strictSame([...new Set(types.filter(wants))], ['todos.created'], 'among more types than are kept');
});

/** The hint of the error; null for a possible type. */
function refusal(type: string): string | null {
  try {
    requireEventTypes(['todos.created', type]);
    return null;
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invalid-parameter') return error.hint ?? '';
    throw error;
  }
}

t.test('a possible event type is accepted', async (t) => {
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
  for (const type of [...types, 'system.file.*', 'system.*.created', '*rotated', ...SYSTEM_EVENT_TYPES.keys()])
    t.equal(refusal(type), null, type);
});

t.test('a type that no event has is rejected, with the nearest one', async (t) => {
  for (const [type, near] of [
    ['todos', 'todos.*'],
    ['todos.create', 'todos.created'],
    ['todos.creatd', 'todos.created'],
    ['system.file.create', 'system.file.created'],
    ['system.auth.faild', 'system.auth.failed'],
    ['system.fil.*', 'system.file.*'],
    ['system.signing-key.rotated', 'system.signing-keys.rotated'],
  ] as const)
    t.equal(refusal(type), `Did you mean '${near}'?`, type);
  for (const type of ['created', '.created', 'todos.created.', 'system', 'system.created', '*.creatd', 'system.x.*'])
    t.type(refusal(type), 'string', type);
  t.match(refusal(`system.${'z'.repeat(40)}`), /^Types are todos\.created, /);
});

t.test('a pattern can match system types', async (t) => {
  t.strictSame(matchingSystemTypes('system.event-log.*'), ['system.event-log.stopped', 'system.event-log.gap']);
  t.strictSame(matchingSystemTypes('todos.*'), []);
});
