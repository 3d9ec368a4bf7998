/** Readers of a list below the minimum rate are cut off with all buffered data; the server waits for others. */
import http, { type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { BSON } from 'bson';
import Fastify from 'fastify';
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { sendList } from '../../../src/collections/http/list-response.ts';
import { ByteBudget } from '../../../src/lib/memory/byte-budget.ts';
import { OpenResponses } from '../../../src/lib/streaming/slow-reader-limits.ts';
import { Policies } from '../../../src/policies/policies.ts';
import { StreamedResponses } from '../../../src/policies/revalidation/streamed-responses.ts';
import { FULL_FIELD_TREE } from '../../../src/query/evaluate/field-tree.ts';
import { until } from '../../helpers/until.ts';

const ROOM = { each: 1e9, all: 1e9 };
const ALONE = { principal: async () => ANONYMOUS };
const NOBODY = {
  onRevoked: () => () => undefined,
  getCached: () => undefined,
  refreshIgnoringExpiry: async () => ANONYMOUS,
};
const BATCH = [BSON.serialize({ _id: 'a', filling: 'x'.repeat(1_000_000) })];

t.test('stalled readers', async (t) => {
  let open = 0;
  const app = Fastify();
  t.teardown(() => app.close());
  /** Lists of many batches with a delay before each, for readers that may pause for a given time. */
  app.get<{ Params: { count: string; waitMs: string; stalledMs: string } }>(
    '/:count/:waitMs/:stalledMs',
    (request, reply) => {
      async function* batches() {
        open++;
        try {
          for (let n = 0; n < Number(request.params.count); n++) {
            await pause(Number(request.params.waitMs));
            yield BATCH;
          }
        } finally {
          open--;
        }
      }
      const list = {
        documents: [],
        rest: batches(),
        next: null,
        visible: FULL_FIELD_TREE,
        prev: null,
        count: null,
        unsorted: [],
      };
      const windowMs = Number(request.params.stalledMs);
      const openResponses = new OpenResponses({
        budget: new ByteBudget(ROOM),
        pace: { windowMs, windowBytes: 10_240 },
      });
      const policies = new Policies('development');
      const streamedResponses = new StreamedResponses({
        authenticator: NOBODY,
        policies,
        impersonation: ALONE,
        openResponses,
      });
      request.asker = ANONYMOUS;
      const options = { hints: [], meta: true, expand: null, most: 1e12, streamedResponses, rights: null };
      return sendList(reply, list, options);
    },
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const begin = (path: string, agent: http.Agent | false = false) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      http.get(`${url}${path}`, { agent }, resolve).once('error', reject);
    });

  await t.test('a reader that accepts nothing is cut off', async (t) => {
    const response = await begin('/1000000/0/300');
    response.once('error', () => {});
    await until(() => open === 1, 'the list is under way');
    await until(() => open === 0, 'it is given up', 15_000);
    response.resume();
    await new Promise((resolve) => response.once('close', resolve));
    t.equal(response.complete, false, 'never closed as if it were complete');
  });

  await t.test('a reader that reads a little now and then gets everything', async (t) => {
    const response = await begin('/60/0/1500');
    let bytes = 0;
    for await (const chunk of response) {
      bytes += chunk.length;
      if (bytes < 5_000_000) await pause(30);
    }
    t.ok(response.complete);
    t.ok(bytes > 60_000_000);
  });

  await t.test('a pause of the server does not count, nor one between two queries', async (t) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    for (let n = 0; n < 2; n++) {
      const response = await begin('/2/1000/400', agent);
      const { socket } = response;
      response.resume();
      await new Promise((resolve) => response.once('close', resolve));
      t.ok(response.complete);
      await pause(1_000);
      t.equal(socket.destroyed, false, 'the connection stays');
    }
  });
});
