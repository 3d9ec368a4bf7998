/**
 * Real write hooks: every way of writing × a hook that changes, rejects, fails, times out or exhausts CPU. Nothing is written
 * unless the hook allows it.
 */
import t from 'tap';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { createPluginFixture } from '../../helpers/functions/plugin-fixture.ts';
import { SEEDED, type Way, waysToWrite, write } from '../../helpers/functions/ways-to-write.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { speakingAs, user } from '../../helpers/principals.ts';

const WAYS = waysToWrite('x', 'x').map(({ name, action }, index) => ({ name, action, index }));
const isFirstOfAction = (action: Way['action'], index: number) =>
  WAYS.findIndex((way) => way.action === action) === index;

/** The hook, and the error of the rejected write. */
const KINDS = {
  changing: {
    code: 'export default ({ action, document }) => document && { ...document, seen: action };',
    status: 0,
  },
  refusing: {
    code: `export default ({ document, before }, ctx) => {
      ctx.log.info((document ?? before).id);
      throw new Refusal('Not on a Sunday', { code: 'sunday', pointer: '/n' });
    };`,
    status: 422,
    error: 'rejected-by-function',
  },
  failing: {
    code: "export default () => { throw new Error('planted words'); };",
    status: 500,
    error: 'function-failed',
  },
  waiting: { code: 'export default () => new Promise(() => {});', status: 504, error: 'function-timeout' },
  computing: { code: 'export default () => { for (;;); };', status: 504, error: 'function-timeout' },
} as const;

t.test('every way of writing runs the hooks', async (t) => {
  const fixture = await createPluginFixture(t, { settings: { MILLRACE_FUNCTIONS: 'on' } });
  const { app, services, boss } = fixture;
  await beOwned(services);
  const ann = speakingAs(services)(user('ann'));
  withPolicies(services, [{ resources: ['*'], actions: ['create', 'read', 'update', 'delete'] }]);
  const watch = await watchEvents(t, services);
  const keys = services.mongo.log.collection('idempotency');

  const files = Object.fromEntries(Object.entries(KINDS).map(([kind, { code }]) => [`${kind}.ts`, code]));
  const functions = Object.keys(KINDS).map((kind) => ({
    name: kind,
    file: `${kind}.ts`,
    beforeWrite: { collections: WAYS.map(({ index }) => `${kind}${index}`) },
    timeoutMs: kind === 'waiting' || kind === 'computing' ? 200 : 3_000,
  }));
  const put = await boss('PUT /admin/plugins/guard', { manifest: { name: 'guard', functions }, files });
  t.equal(put.statusCode, 201, put.body);
  await watch.created();

  for (const { name: wayName, action, index } of WAYS) {
    await t.test(wayName, async (t) => {
      const tried: string[] = [];
      let changed = 0;
      for (const [kind, expected] of Object.entries(KINDS)) {
        // A loop uses its whole time limit, so one way per action is enough.
        if (kind === 'computing' && !isFirstOfAction(action, index)) continue;
        const name = `${kind}${index}`;
        const documents = services.mongo.data.collection<{ _id: string }>(name);
        await documents.insertMany(SEEDED.map(({ id, ...fields }) => ({ _id: id, ...fields })));
        const stored = () => documents.find().sort({ _id: 1 }).toArray();
        const [before, kept] = [await stored(), await keys.countDocuments()];
        const way = waysToWrite(name, name)[index];
        if (way === undefined) throw new Error(`There is no way ${index}`);
        const response = await write(app, way, ann);
        if (expected.status === 0) {
          t.equal(response.statusCode, way.status, response.body);
          changed = way.ids.length;
          const rows = await documents.find({ _id: { $in: [...way.ids] } }).toArray();
          if (way.action === 'delete') t.strictSame(rows, []);
          else
            t.match(
              rows,
              way.ids.map((_id) => ({ _id, n: 5, seen: way.action })),
            );
          continue;
        }
        tried.push(name);
        t.match(response.json(), { status: expected.status, code: expected.error }, kind);
        t.notMatch(response.body, /planted/);
        if (kind === 'refusing') t.match(response.json(), { detail: /Not on a Sunday/, reason: 'sunday' });
        t.strictSame(await stored(), before, `${kind}: nothing is written`);
        t.equal(await keys.countDocuments(), kept, `${kind}: no key is stored`);
      }
      const reported = (await watch.created()).map(({ type, documentId }) => `${type} ${documentId}`);
      const unwritten = reported.filter((one) => !one.startsWith(`changing${index}.`));
      const seeded = tried.flatMap((name) => SEEDED.map(({ id }) => `${name}.created ${id}`));
      t.strictSame(unwritten, seeded, 'no event of a rejected write');
      t.equal(reported.length - unwritten.length, SEEDED.length + changed, 'and one of each change');
    });
  }
});
