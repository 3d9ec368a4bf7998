/**
 * What an endpoint is sent is what a subscription of the same principal to the same event types is told: the same events,
 * with the same members, over random documents, policies, roles and claims, renames, drops, gaps, and rows whose documents
 * are unknown or too large. With a filter, it is what of that the filter finds in the visible states.
 * MILLRACE_LONG=1 makes 300 runs, MILLRACE_RUNS as many as it says, MILLRACE_SEED repeats one.
 */
import type { Document } from 'mongodb';
import t from 'tap';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import { readStored } from '../../../src/database/bson/stored.ts';
import { EMPTY_ROW, type LogRow } from '../../../src/events/log/row.ts';
import { namedRow, shownRow } from '../../../src/events/read/visible-row.ts';
import { MillraceError } from '../../../src/kernel/errors.ts';
import { fieldsFor } from '../../../src/policies/reach.ts';
import type { Scope } from '../../../src/policies/scope.ts';
import { Turnstile } from '../../../src/query/evaluate/turnstile.ts';
import { everything } from '../../../src/query/filter.ts';
import { LiveEvents } from '../../../src/realtime/answer/live-events.ts';
import { RowView } from '../../../src/realtime/answer/row-view.ts';
import { PlannedEndpoint } from '../../../src/webhooks/planning/planned-endpoint.ts';
import { RowDeliveries } from '../../../src/webhooks/planning/row-deliveries.ts';
import { signUp } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog, rowsBehind } from '../../helpers/events/log-rows.ts';
import { passes } from '../../helpers/live/live-model.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { key, owner, user } from '../../helpers/principals.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import { unbounded } from '../../helpers/unbounded.ts';
import {
  randomPolicies,
  randomDocument as thing,
  randomFilter as thingFilter,
} from '../../policies/agreement/random-policies.ts';
import { randomDocument, randomFilter } from '../../realtime/agreement/random-values.ts';
import { randomRights, randomView } from '../../realtime/agreement/random-views.ts';
import { randomWrite } from '../../realtime/agreement/random-writes.ts';

const RUNS = runCount(6, 300);
const WRITES = 15;
const POLICIES = 6;
/** Everybody but strangers may learn of some system events; now and then also of accounts. */
const SYSTEM = [
  { mode: 'development', collections: ['events'], actions: ['read'], principals: { roles: ['red'] } },
  { mode: 'development', collections: ['admin'], actions: ['read'], principals: { roles: ['blue'] } },
];

t.setTimeout(120_000 + RUNS * 10_000);
t.test('endpoints are sent what subscriptions are told', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { app, parts } = await buildTestApp(t);
  const { tail, completed } = parts.events;
  const { data } = parts.mongo;
  const lane = new Turnstile().lane('test');
  const counts = { asked: 0, sent: 0, cut: 0, leaving: 0, found: 0, shared: 0 };
  let who: readonly Principal[] = [];
  const makers = { find: ({ id }: { id: string }) => who[Number(id)] ?? null };
  const rowsOf = new RowDeliveries({ policies: parts.policies, makers, completed, publicUrl: undefined });

  const endpointOf = (id: number, types: readonly string[], filter: object | null) =>
    new PlannedEndpoint({
      id: `e${id}${filter === null ? '' : 'f'}`,
      types,
      filter: filter as Readonly<Record<string, unknown>> | null,
      principal: { kind: 'user', id: String(id) },
      ordering: 'none',
      enabled: true,
    });

  for (let run = 0; run < RUNS; run++) {
    const fault = await play(new Random(seed + run), `c${run}`).catch((error: Error) => String(error.stack));
    if (fault === null) continue;
    t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${fault}`);
    break;
  }
  t.comment(JSON.stringify(counts));
  for (const [name, count] of Object.entries(counts)) t.ok(count > RUNS, `${name}: ${count}`);

  async function play(random: Random, name: string): Promise<string | null> {
    withPolicies(parts, [
      {
        collections: ['*'],
        actions: ['read', 'create', 'update', 'delete'],
        principals: { anonymous: true, authenticated: true },
      },
    ]);
    const rows = [...(await written(random, name)), ...(await odd(random))];
    for (let round = 0; round < POLICIES; round += 1) {
      putPolicies(random, name);
      const { roles, claims } = randomRights(random);
      who = [
        user('u1', roles, { ...claims, team: 'red' }),
        user('u2', ['blue', 'red']),
        key('k1', { roles: ['red'], ...(random.once(3) ? { collections: [name] } : {}) }),
        owner(random.pick(['owner', 'developer', 'viewer'])),
        user('u1', roles, { ...claims, team: 'red' }),
      ];
      for (const row of rows) {
        const fault = await compare(random, row, name);
        if (fault !== null) return `${row.operation} ${row.number} of ${row.collection}: ${fault}`;
      }
    }
    return null;
  }

  /** Policies are drawn until they can be saved: one may be without effect beside another one. */
  function putPolicies(random: Random, name: string): void {
    for (;;) {
      const view = random.once(2) ? randomView(random, name).policies : randomPolicies(random);
      try {
        withPolicies(parts, [...view, ...SYSTEM.filter(() => random.once(2))]);
        return;
      } catch (error) {
        if (!(error instanceof MillraceError && error.code === 'invalid-policy')) throw error;
      }
    }
  }

  async function written(random: Random, name: string): Promise<readonly LogRow[]> {
    const from = tail.position.number;
    await app.inject({
      method: 'POST',
      url: `/api/${name}`,
      payload: [randomDocument(random), randomDocument(random)],
    });
    await app.inject({ method: 'POST', url: '/api/things', payload: thing(random, `t-${name}-1`) });
    if (random.once(2)) await signUp(app, `a-${name}`);
    for (let count = 0; count < WRITES; count += 1) await randomWrite(random, { app, name, data });
    await app.inject({ method: 'PUT', url: `/api/things/t-${name}-1`, payload: thing(random, 't') });
    await app.inject({ method: 'DELETE', url: `/api/things/t-${name}-1` });
    if (random.once(2))
      await data.renameCollection(name, random.once(2) ? 'things' : `${name}-new`, { dropTarget: true });
    await markLog(app, tail);
    return await rowsBehind(tail, from);
  }

  /** Rows that tests hardly ever meet, made from one that they did. */
  async function odd(random: Random): Promise<readonly LogRow[]> {
    await app.inject({ method: 'PUT', url: '/api/things/large?upsert=true', payload: thing(random, 'large') });
    const [row] = (await rowsBehind(tail, Math.max(0, tail.position.number - 20))).filter(
      (one) => one.collection === 'things' && one.key !== null && one.operation !== 'delete',
    );
    if (row === undefined) return [];
    const without = { ...row, after: null, before: null, update: null };
    const gap = { ...row, ...EMPTY_ROW, operation: 'gap', from: 'a', to: 'b' } as const;
    return [without, { ...without, big: true }, { ...without, operation: 'drop', key: null }, gap];
  }

  async function compare(random: Random, row: LogRow, name: string): Promise<string | null> {
    const types = random.pick<readonly string[]>([
      ['*'],
      [`${name}.*`, 'things.*'],
      ['*.updated', '*.renamed', '*.dropped', 'system.log.*'],
    ]);
    const filter = random.once(2) ? randomFilter(random) : thingFilter(random);
    const plain = who.map((_, id) => endpointOf(id, types, null));
    const filtered = who.map((_, id) => endpointOf(id, types, filter));
    const asked = [...plain, ...filtered].filter((endpoint) => endpoint.wantsRow(row));
    const { deliveries } = await rowsOf.of(row, asked, 'schedule', lane);
    const bodies = new Map(deliveries.map(({ endpoint, body }) => [endpoint, body]));
    const whole = await completed(row);
    for (const [id, principal] of who.entries()) {
      const question = { types, filter: everything, principal, key: '' };
      const told = new LiveEvents(question, parts.policies, unbounded()).judge(new RowView(whole));
      if (typeof told === 'string') return 'a subscription judged otherwise';
      const [message] = told;
      const event = message && JSON.stringify(JSON.parse(message.part(null).toString()).event);
      const sent = bodies.get(`e${id}`);
      counts.asked += 1;
      if (event !== sent) return `${JSON.stringify(principal)} is told\n${event}\nand sent\n${sent}`;
      if (event === undefined) {
        if (bodies.has(`e${id}f`)) return 'a filter shows what is not seen without it';
        continue;
      }
      counts.sent += 1;
      const { data: after, before } = JSON.parse(event);
      if (row.after !== null && after === null && before !== null) counts.leaving += 1;
      const named = namedRow(whole, (place) => parts.policies.find(principal, 'read', place));
      const sight = (scope: Scope<'read'>) => (state: Buffer) => fieldsFor(scope, readStored(state));
      const shown = named && shownRow(named.row, named.scope, sight(named.scope));
      const states: Document[] = [shown?.after ?? null, shown?.before ?? null].flatMap((state) =>
        state === null ? [] : readStored(state),
      );
      if (shown?.after?.length !== whole.after?.length) counts.cut += 1;
      const due = row.key === null || (states.length === 0 && shown !== null) || states.some(passes(filter));
      if (due !== bodies.has(`e${id}f`)) return `${JSON.stringify(filter)} of ${event}: ${due ? 'not ' : ''}sent`;
      counts.found += Number(due);
    }
    const [first, same] = [bodies.get('e0'), bodies.get('e4')];
    if (first !== same) return 'two with the same rights see different things';
    counts.shared += Number(first !== undefined);
    return null;
  }
});
