/** Readers of a list that take less than the least rate are cut off with all that waits for them; others are waited for. */
import http, { type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { BSON } from 'bson';
import Fastify from 'fastify';
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { sendList } from '../../../src/collections/http/list-response.ts';
import { OpenAnswers } from '../../../src/kernel/answers/open-answers.ts';
import { ByteBudget } from '../../../src/kernel/memory/byte-budget.ts';
import { Policies } from '../../../src/policies/policies.ts';
import { LongAnswers } from '../../../src/policies/standing/long-answers.ts';
import { until } from '../../helpers/until.ts';

const ROOM = { each: 1e9, all: 1e9 };
const ALONE = { principal: async () => ANONYMOUS };
const NOBODY = { onRevoked: () => () => undefined, recall: () => undefined, present: async () => ANONYMOUS };
const BATCH = [BSON.serialize({ _id: 'a', filling: 'x'.repeat(1_000_000) })];

t.test('stalled readers', async (t) => {
  let open = 0;
  const app = Fastify();
  t.teardown(() => app.close());
  /** Lists of so many batches, each of which comes after a while, for readers who may pause for so long. */
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
      const list = { documents: batches(), next: null, prev: null, count: null, unsorted: [], hints: [] };
      const windowMs = Number(request.params.stalledMs);
      const openAnswers = new OpenAnswers({ budget: new ByteBudget(ROOM), pace: { windowMs, windowBytes: 10_240 } });
      const policies = new Policies('development');
      const answers = new LongAnswers({ authenticator: NOBODY, policies, lookingAs: ALONE, openAnswers });
      const asked = { asker: ANONYMOUS, ip: '127.0.0.1' };
      const begin = (bytes: number) => answers.begin(asked, reply.raw, null, bytes);
      return sendList(reply, list, { meta: true, most: 1e12, begin });
    },
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const begin = (path: string, agent: http.Agent | false = false) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      http.get(`${url}${path}`, { agent }, resolve).once('error', reject);
    });

  await t.test('one that takes nothing is cut off', async (t) => {
    const answer = await begin('/1000000/0/300');
    answer.once('error', () => {});
    await until(() => open === 1, 'the list is under way');
    await until(() => open === 0, 'it is given up', 15_000);
    answer.resume();
    await new Promise((resolve) => answer.once('close', resolve));
    t.equal(answer.complete, false, 'never closed as if it were complete');
  });

  await t.test('one that takes a little now and then gets everything', async (t) => {
    const answer = await begin('/60/0/1500');
    let bytes = 0;
    for await (const chunk of answer) {
      bytes += chunk.length;
      if (bytes < 5_000_000) await pause(30);
    }
    t.ok(answer.complete);
    t.ok(bytes > 60_000_000);
  });

  await t.test('a pause of the server does not count, nor one between two questions', async (t) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    t.teardown(() => agent.destroy());
    for (let n = 0; n < 2; n++) {
      const answer = await begin('/2/1000/400', agent);
      const { socket } = answer;
      answer.resume();
      await new Promise((resolve) => answer.once('close', resolve));
      t.ok(answer.complete);
      await pause(1_000);
      t.equal(socket.destroyed, false, 'the connection stays');
    }
  });
});
