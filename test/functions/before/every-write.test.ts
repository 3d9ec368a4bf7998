/**
 * Real functions that see writes: every way of writing × a function that changes, refuses, fails, waits too long or computes too
 * long. Nothing is written unless the function lets it be. Not here: what an answer means for types and rights
 * (test/collections/seen-results.test.ts).
 */
import t from 'tap';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { SEEDED, waysToWrite, write } from '../../helpers/functions/ways-to-write.ts';
import { beOwned, withPolicies } from '../../helpers/policies.ts';
import { speakingAs, user } from '../../helpers/principals.ts';

const WAYS = waysToWrite('x', 'x').map(({ name }, index) => ({ name, index }));

/** What a function does, and what its refusal of a write is. */
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
    error: 'refused-by-function',
  },
  failing: {
    code: "export default () => { throw new Error('planted words'); };",
    status: 500,
    error: 'function-failed',
  },
  waiting: { code: 'export default () => new Promise(() => {});', status: 504, error: 'function-timeout' },
  computing: { code: 'export default () => { for (;;); };', status: 504, error: 'function-timeout' },
} as const;

t.test('every way of writing', async (t) => {
  const world = await pluginWorld(t, { settings: { MILLRACE_FUNCTIONS: 'on' } });
  const { app, parts, boss } = world;
  await beOwned(parts);
  const ann = speakingAs(parts)(user('ann'));
  withPolicies(parts, [{ collections: ['*'], actions: ['create', 'read', 'update', 'delete'] }]);
  const watch = await watchEvents(t, parts);
  const keys = parts.mongo.log.collection('idempotency');

  const files = Object.fromEntries(Object.entries(KINDS).map(([kind, { code }]) => [`${kind}.ts`, code]));
  const functions = Object.keys(KINDS).map((kind) => ({
    name: kind,
    file: `${kind}.ts`,
    before: { collections: WAYS.map(({ index }) => `${kind}${index}`) },
    timeoutMs: kind === 'waiting' || kind === 'computing' ? 200 : 3_000,
  }));
  const put = await boss('PUT /admin/plugins/guard', { manifest: { name: 'guard', functions }, files });
  t.equal(put.statusCode, 201, put.body);
  await watch.made();

  for (const { name: wayName, index } of WAYS) {
    await t.test(wayName, async (t) => {
      const tried: string[] = [];
      let changed = 0;
      for (const [kind, expected] of Object.entries(KINDS)) {
        // A loop costs its whole time, so one way of each action is enough.
        if (kind === 'computing' && ![0, 5, 9].includes(index)) continue;
        const name = `${kind}${index}`;
        const documents = parts.mongo.data.collection<{ _id: string }>(name);
        await documents.insertMany(SEEDED.map(({ id, ...members }) => ({ _id: id, ...members })));
        const stored = () => documents.find().sort({ _id: 1 }).toArray();
        const [before, kept] = [await stored(), await keys.countDocuments()];
        const way = waysToWrite(name, name)[index];
        if (way === undefined) throw new Error(`There is no way ${index}`);
        const answer = await write(app, way, ann);
        if (expected.status === 0) {
          t.equal(answer.statusCode, way.status, answer.body);
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
        t.match(answer.json(), { status: expected.status, code: expected.error }, kind);
        t.notMatch(answer.body, /planted/);
        if (kind === 'refusing') t.match(answer.json(), { detail: /Not on a Sunday/, reason: 'sunday' });
        t.strictSame(await stored(), before, `${kind}: nothing is written`);
        t.equal(await keys.countDocuments(), kept, `${kind}: no key is kept`);
      }
      const told = (await watch.made()).map(({ type, documentId }) => `${type} ${documentId}`);
      const unwritten = told.filter((one) => !one.startsWith(`changing${index}.`));
      const seeded = tried.flatMap((name) => SEEDED.map(({ id }) => `${name}.created ${id}`));
      t.strictSame(unwritten, seeded, 'no event of what was refused');
      t.equal(told.length - unwritten.length, SEEDED.length + changed, 'and one of each change');
    });
  }
});
