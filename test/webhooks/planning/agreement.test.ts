/**
 * An endpoint receives what a subscription of the same principal to the same event types receives: the same events,
 * with the same fields, over random documents, policies, roles and claims, renames, drops, gaps, and rows whose
 * documents are unknown or too large. With a filter, it receives the events whose visible states match. MILLRACE_LONG=1
 * runs 300 times, MILLRACE_RUNS sets the number, MILLRACE_SEED repeats one.
 */
import type { Document } from 'mongodb';
import t from 'tap';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { redactCollectionNames, redactRow } from '../../../src/events/read/redact-row.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import type { Scope } from '../../../src/policies/scope.ts';
import { visibleFieldTree } from '../../../src/policies/scope-filter.ts';
import { FairScheduler } from '../../../src/query/evaluate/fair-scheduler.ts';
import { matchAllFilter } from '../../../src/query/filter.ts';
import { LiveEvents } from '../../../src/realtime/result/event-subscription-result.ts';
import { LogRowView } from '../../../src/realtime/result/log-row-view.ts';
import { CompiledEndpoint } from '../../../src/webhooks/planning/compiled-endpoint.ts';
import { EventDeliveryBuilder } from '../../../src/webhooks/planning/deliveries-for-event.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog, rowsBehind } from '../../helpers/events/log-rows.ts';
import { passes } from '../../helpers/live/live-model.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { key, owner, user } from '../../helpers/principals.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import { unbounded } from '../../helpers/unbounded.ts';
import { signUp } from '../../helpers/users.ts';
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
/** Every authenticated principal may see some system events; occasionally also user events. */
const SYSTEM = [
  { mode: 'development', resources: ['_events'], actions: ['read'], principals: { roles: ['red'] } },
  { mode: 'development', resources: ['_admin'], actions: ['read'], principals: { roles: ['blue'] } },
];

t.setTimeout(120_000 + RUNS * 10_000);
t.test('endpoints receive what subscriptions receive', async (t) => {
  const seed = runSeed();
  t.comment(`MILLRACE_SEED=${seed}`);
  const { app, services } = await buildTestApp(t);
  const { tail, completed } = services.events;
  const { data } = services.mongo;
  const lane = new FairScheduler().createTask('test');
  const counts = { requested: 0, sent: 0, cut: 0, leaving: 0, found: 0, shared: 0 };
  let who: readonly Principal[] = [];
  const creators = { find: ({ id }: { id: string }) => who[Number(id)] ?? null };
  const rowsOf = new EventDeliveryBuilder({ policies: services.policies, creators, completed, publicUrl: undefined });

  const endpointOf = (id: number, types: readonly string[], filter: object | null) =>
    new CompiledEndpoint({
      id: `e${id}${filter === null ? '' : 'f'}`,
      types,
      filter: filter as Readonly<Record<string, unknown>> | null,
      principal: { kind: 'user', id: String(id) },
      ordering: 'none',
      enabled: true,
    });

  for (let run = 0; run < RUNS; run++) {
    const issue = await play(new Random(seed + run), `c${run}`).catch((error: Error) => String(error.stack));
    if (issue === null) continue;
    t.fail(`run ${run}, MILLRACE_SEED=${seed + run}: ${issue}`);
    break;
  }
  t.comment(JSON.stringify(counts));
  for (const [name, count] of Object.entries(counts)) t.ok(count > RUNS, `${name}: ${count}`);

  async function play(random: Random, name: string): Promise<string | null> {
    withPolicies(services, [
      {
        resources: ['*'],
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
        key('k1', { roles: ['red'], ...(random.once(3) ? { resources: [name] } : {}) }),
        owner(random.pick(['owner', 'developer', 'viewer'])),
        user('u1', roles, { ...claims, team: 'red' }),
      ];
      for (const row of rows) {
        const issue = await compare(random, row, name);
        if (issue !== null) return `${row.operation} ${row.number} of ${row.collection}: ${issue}`;
      }
    }
    return null;
  }

  /** Policies are drawn until they can be saved: one may be without effect beside another one. */
  function putPolicies(random: Random, name: string): void {
    for (;;) {
      const view = random.once(2) ? randomView(random, name).policies : randomPolicies(random);
      try {
        withPolicies(services, [...view, ...SYSTEM.filter(() => random.once(2))]);
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

  /** Rows that tests rarely meet, derived from one that they did. */
  async function odd(random: Random): Promise<readonly LogRow[]> {
    await app.inject({ method: 'PUT', url: '/api/things/large?upsert=true', payload: thing(random, 'large') });
    const [row] = (await rowsBehind(tail, Math.max(0, tail.position.number - 20))).filter(
      (one) => one.collection === 'things' && one.key !== null && one.operation !== 'delete',
    );
    if (row === undefined) return [];
    const without = { ...row, after: null, before: null, update: null };
    const gap = { ...row, ...LOG_ROW_DEFAULTS, operation: 'gap', from: 'a', to: 'b' } as const;
    return [without, { ...without, big: true }, { ...without, operation: 'drop', key: null }, gap];
  }

  async function compare(random: Random, row: LogRow, name: string): Promise<string | null> {
    const types = random.pick<readonly string[]>([
      ['*'],
      [`${name}.*`, 'things.*'],
      ['*.updated', '*.renamed', '*.dropped', 'system.event-log.*'],
    ]);
    const filter = random.once(2) ? randomFilter(random) : thingFilter(random);
    const plain = who.map((_, id) => endpointOf(id, types, null));
    const filtered = who.map((_, id) => endpointOf(id, types, filter));
    const requested = [...plain, ...filtered].filter((endpoint) => endpoint.wantsRow(row));
    const { deliveries } = await rowsOf.of(row, requested, 'schedule', lane);
    const bodies = new Map(deliveries.map(({ endpoint, body }) => [endpoint, body]));
    const whole = await completed(row);
    for (const [id, principal] of who.entries()) {
      const query = { types, filter: matchAllFilter, principal, key: '' };
      const reported = new LiveEvents(query, services.policies, unbounded()).applyRow(new LogRowView(whole));
      if (typeof reported === 'string') return 'a subscription judged otherwise';
      const [message] = reported;
      const event = message && JSON.stringify(JSON.parse(message.part(null).toString()).event);
      const sent = bodies.get(`e${id}`);
      counts.requested += 1;
      if (event !== sent) return `${JSON.stringify(principal)} is notified\n${event}\nand sent\n${sent}`;
      if (event === undefined) {
        if (bodies.has(`e${id}f`)) return 'a filter shows what is not seen without it';
        continue;
      }
      counts.sent += 1;
      const { data: after, before } = JSON.parse(event);
      if (row.after !== null && after === null && before !== null) counts.leaving += 1;
      const named = redactCollectionNames(whole, (position) => services.policies.find(principal, 'read', position));
      const sight = (scope: Scope<'read'>) => (state: Buffer) => visibleFieldTree(scope, decodeDocument(state));
      const shown = named && redactRow(named.row, named.scope, sight(named.scope));
      const states: Document[] = [shown?.after ?? null, shown?.before ?? null].flatMap((state) =>
        state === null ? [] : decodeDocument(state),
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
