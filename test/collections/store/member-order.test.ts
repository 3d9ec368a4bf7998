/**
 * Members stand in one order wherever a document is read. The database tells a moved member where it was before when only
 * the difference is stored, so that the log, and everything live, would differ from the document.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';

/** Long enough that the difference is shorter than the document, which makes the database store the difference. */
const LONG = 'x'.repeat(400);
const UPDATE = { 'content-type': 'application/vnd.millrace.update+json' };

t.test('the log tells members in the order in which they are stored', async (t) => {
  const { app, parts } = await buildTestApp(t);
  await until(() => parts.events.recorder.state.status === 'recording', 'it records');
  const stored = { k: LONG, a: 1, b: 2, o: { l: LONG, x: 1, y: 2, list: [{ l: LONG, p: 1, q: 2 }] } };
  const put = (body: object) => ({ method: 'PUT', url: '/api/things/one', payload: body }) as const;
  const set = (members: object) => {
    return { method: 'PATCH', url: '/api/things/one', headers: UPDATE, payload: { $set: members } } as const;
  };
  const cases = {
    'members moved': put({ k: LONG, b: 2, a: 1, o: stored.o }),
    'a member between others': put({ k: LONG, a: 1, between: true, b: 2, o: stored.o }),
    'a new member behind': put({ ...stored, behind: true }),
    'nothing moved': put({ ...stored, a: 2 }),
    'a member in a document moved': put({ ...stored, o: { l: LONG, y: 2, x: 1, list: stored.o.list } }),
    'one in a document in an array': put({ ...stored, o: { ...stored.o, list: [{ l: LONG, q: 2, p: 1 }] } }),
    'a document given another order': set({ o: { l: LONG, y: 2, x: 1, list: [] } }),
    'many documents given another order': {
      ...set({ o: { l: LONG, y: 2, x: 1, list: [] } }),
      url: '/api/things?a=1',
      headers: { ...UPDATE, prefer: 'max-affected=10' },
    },
    'a change in a batch': {
      method: 'POST',
      url: '/batch',
      payload: { operations: [{ method: 'PUT', path: '/api/things/one', body: { k: LONG, b: 2, a: 1 } }] },
    },
    'a name with a dollar beside a moved one': put({ k: LONG, b: 2, a: 1, $c: 1, 'd.e': 1 }),
  } as const;
  for (const [what, request] of Object.entries(cases)) {
    await app.inject({ method: 'DELETE', url: '/api/things/one' });
    await app.inject({ method: 'POST', url: '/api/things', payload: { id: 'one', ...stored } });
    const { position } = (await app.inject('/events')).json();
    const answer = await app.inject(request);
    t.ok(answer.statusCode < 300, `${what}: ${answer.statusCode} ${answer.body.slice(0, 200)}`);
    const found = await app.inject('/api/things/one');
    const { updatedAt } = found.json()._meta;
    let told: { data: object }[] = [];
    await until(async () => {
      const { changes } = (await app.inject(`/api/things/_changes?since=${position}`)).json();
      told = changes.filter(
        ({ data }: { data: typeof stored & { _meta: object } }) => Object(data?._meta).updatedAt === updatedAt,
      );
      return told.length > 0;
    }, `${what}: told`);
    const text = JSON.stringify(told.at(-1)?.data);
    if (what.includes('dollar')) t.same(JSON.parse(text), found.json(), what);
    else t.equal(text, found.body, what);
  }
});
