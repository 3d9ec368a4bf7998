/**
 * Fields have the same order wherever a document is read. The database's change stream reports a moved field at its old
 * position when only the difference is stored, so the log, and everything live, would differ from the document.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';

/** Long enough that the difference is shorter than the document, which makes the database store the difference. */
const LONG = 'x'.repeat(400);
const UPDATE = { 'content-type': 'application/vnd.millrace.update+json' };

t.test('the log has fields in the order in which they are stored', async (t) => {
  const { app, services } = await buildTestApp(t);
  await until(() => services.events.recorder.state.status === 'recording', 'it records');
  const stored = { k: LONG, a: 1, b: 2, o: { l: LONG, x: 1, y: 2, list: [{ l: LONG, p: 1, q: 2 }] } };
  const put = (body: object) => ({ method: 'PUT', url: '/api/things/one', payload: body }) as const;
  const set = (fields: object) => {
    return { method: 'PATCH', url: '/api/things/one', headers: UPDATE, payload: { $set: fields } } as const;
  };
  const cases = {
    'fields moved': put({ k: LONG, b: 2, a: 1, o: stored.o }),
    'a field between others': put({ k: LONG, a: 1, between: true, b: 2, o: stored.o }),
    'a new field at the end': put({ ...stored, behind: true }),
    'nothing moved': put({ ...stored, a: 2 }),
    'a field in a document moved': put({ ...stored, o: { l: LONG, y: 2, x: 1, list: stored.o.list } }),
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
    const response = await app.inject(request);
    t.ok(response.statusCode < 300, `${what}: ${response.statusCode} ${response.body.slice(0, 200)}`);
    const found = await app.inject('/api/things/one');
    const { updatedAt } = found.json()._meta;
    let reported: { data: object }[] = [];
    await until(async () => {
      const { changes } = (await app.inject(`/api/things/_changes?since=${position}`)).json();
      reported = changes.filter(
        ({ data }: { data: typeof stored & { _meta: object } }) => Object(data?._meta).updatedAt === updatedAt,
      );
      return reported.length > 0;
    }, `${what}: logged`);
    const text = JSON.stringify(reported.at(-1)?.data);
    if (what.includes('dollar')) t.same(JSON.parse(text), found.json(), what);
    else t.equal(text, found.body, what);
  }
});
