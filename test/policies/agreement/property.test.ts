/**
 * Random policies, documents, requests and writes, judged by a referee that shares no code with the program: lists,
 * single documents, feeds and writes must match it exactly. MILLRACE_LONG=1 makes 2,000 runs, MILLRACE_RUNS sets their
 * number.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Document } from 'mongodb';
import t from 'tap';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import {
  type Json,
  leavesOf,
  type PolicyLike,
  pathsIn,
  randomBody,
  randomDocument,
  randomFilter,
  randomPolicies,
  randomPrincipals,
  withPlainNames,
  withStoredNames,
  withWrittenPaths,
  writtenPath,
} from './random-policies.ts';
import { holds, isJson, Referee } from './referee.ts';

const RUNS = runCount(15, 2_000);
const SEED = runSeed();
const IDS = ['d1', 'd2', 'd3', 'd4', 'd5', 'd6'];
const REQUESTED = ['owner', 'team', 'n', 'tags', 'flag', 'box', 'box.a', 'box.b'];

t.setTimeout(240_000 + RUNS * 3_000);
t.test('the program agrees with the reference implementation', async (t) => {
  t.comment(`MILLRACE_SEED=${SEED}, ${RUNS} runs`);
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_RATE_LIMIT_ANONYMOUS: '1000000',
    MILLRACE_RATE_LIMIT_PRINCIPAL: '1000000',
  });
  const as = speakingAs(services);
  const boss = as(owner());
  const stored = services.mongo.data.collection<Document & { _id: string }>('things');
  const counts = { lists: 0, seen: 0, hidden: 0, written: 0, refused: 0, reported: 0 };

  const request = async (
    who: Record<string, string>,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    send?: unknown,
    more = {},
  ) => {
    const rename = url.endsWith('/_query') ? withWrittenPaths : withStoredNames;
    const body = send === undefined ? {} : { payload: JSON.stringify(rename(send)) };
    const type = send === undefined ? {} : { 'content-type': 'application/json' };
    const response = await app.inject({ method, url, ...body, headers: { ...type, ...who, ...more } });
    return { status: response.statusCode, json: response.body === '' ? null : withPlainNames(response.json()) };
  };
  const plain = ({ _meta, ...fields }: Json): Json => fields;
  const state = async (): Promise<Json[]> =>
    (await stored.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id, _meta, ...fields }) => ({
      id: _id,
      ...withPlainNames(fields),
    }));
  const position = async () => String((await request(boss, 'GET', '/events')).json.position);
  await request(boss, 'POST', '/api/things', {});

  async function reads(
    policies: readonly PolicyLike[],
    principal: Principal,
    random: Random,
    documents: readonly Json[],
  ) {
    const who = as(principal);
    const referee = new Referee(policies, principal, 'read');
    const seen = documents.flatMap((document) => referee.seen(document) ?? []);
    const list = await request(who, 'GET', '/api/things');
    if (!referee.open) return same(list.status, principal.kind === 'anonymous' ? 401 : 403, 'closed');
    counts.lists += 1;
    counts.seen += seen.length;
    same(list.json.map(plain), seen, 'list');
    for (const document of documents) {
      const one = await request(who, 'GET', `/api/things/${document['id']}`);
      same(one.status === 200 ? plain(one.json) : null, referee.seen(document), `get ${document['id']}`);
    }
    const filter = randomFilter(random);
    const paths = pathsIn(filter);
    const found = await request(who, 'POST', '/api/things/_query', { filter, count: 'exact', limit: 100 });
    if (paths.every((path) => referee.requests(path))) {
      const expected = documents.flatMap((one) => (holds(filter, one) ? (referee.seen(one) ?? []) : []));
      same(found.json.map(plain), expected, `query ${JSON.stringify(filter)}`);
    } else {
      counts.hidden += 1;
      same(found.json.code, 'field-hidden', `hidden ${JSON.stringify(filter)}`);
    }
    const path = random.pick(REQUESTED);
    const [shown, written] = [referee.requests(path), encodeURIComponent(writtenPath(path))];
    for (const url of [
      `/api/things?sort=-${written}`,
      `/api/things?${written}[exists]=true&limit=0&count=exact`,
      `/api/things?expand=${written}:others`,
    ])
      same((await request(who, 'GET', url)).status, shown ? 200 : 403, url);
    if (shown) return;
    const text = async (value: string) => {
      const {
        request: _,
        instance: __,
        ...reported
      } = (await request(who, 'GET', `/api/things?${written}=${value}`)).json;
      return reported;
    };
    same(await text('1'), await text('red'), 'a refusal does not depend on the value');
  }

  async function writes(policies: readonly PolicyLike[], principal: Principal, random: Random) {
    const who = as(principal);
    const reader = new Referee(policies, principal, 'read');
    const before = await state();
    const document = random.pick(before);
    const url = `/api/things/${document['id']}`;
    const body = randomBody(random);
    const after = (document: Json, next: Json) => before.map((one) => (one === document ? next : one));
    const judge = async (status: number, expected: readonly Json[] | null, what: string) => {
      if (expected === null) counts.refused += 1;
      else counts.written += 1;
      same(await state(), expected ?? before, what);
      same(status < 300, expected !== null, `${what}: ${status}`);
    };

    const creator = new Referee(policies, principal, 'create');
    const given = creator.given(null);
    const created = { id: 'd9', ...body, ...given };
    const may = creator.open && creator.allows(null, created, given);
    await judge(
      (await request(who, 'POST', '/api/things', { id: 'd9', ...body })).status,
      may ? [...before, created] : null,
      'create',
    );
    await stored.deleteOne({ _id: 'd9' });

    const updater = new Referee(policies, principal, 'update');
    const sends = (old: Json) =>
      Object.fromEntries(Object.entries(body).filter(([name]) => !(name in updater.given(old))));
    const merged = (old: Json): Json => merge({ ...old }, { ...sends(old), ...updater.given(old) });
    const allowed = (old: Json) =>
      updater.open && updater.allows(old, merged(old), updater.given(old)) && names(updater, old, sends(old));
    const patched = await request(who, 'PATCH', url, body);
    await judge(
      patched.status,
      allowed(document) ? after(document, merged(document)) : null,
      `patch ${JSON.stringify(body)}`,
    );
    if (patched.status === 404)
      same(reader.open && reader.seen(document) !== null, false, 'what is seen is not missing');
    if (patched.json !== null && patched.status === 200)
      same(plain(patched.json), reader.seen(merged(document)), 'the answer shows what is read');
    await reset(before);

    const next = updater.open ? updater.replaced(document, body, reader) : null;
    const replaces = next !== null && updater.allows(document, next, updater.given(document));
    const put = await request(who, 'PUT', url, body);
    await judge(put.status, replaces ? after(document, next) : null, `put ${JSON.stringify(body)}`);
    await reset(before);

    const filter = random.once(3) ? {} : randomFilter(random);
    const hidden = pathsIn(filter).some((path) => !reader.open || !reader.requests(path));
    const counted = (one: Json) =>
      Object.keys(filter).length === 0 || (holds(filter, one) && reader.seen(one) !== null);
    const hit = before.filter((one) => updater.open && updater.grantsOf(one).length > 0 && counted(one));
    const all = updater.open && !hidden && hit.every(allowed);
    const many = `/api/things?filter=${encodeURIComponent(JSON.stringify(withWrittenPaths(filter)))}`;
    const changed = await request(who, 'PATCH', many, body, { prefer: 'max-affected=100' });
    await judge(
      changed.status,
      all ? before.map((one) => (hit.includes(one) ? merged(one) : one)) : null,
      `many ${JSON.stringify(filter)}`,
    );
    const others = hit.filter((one) => !isDeepStrictEqual(plain(merged(one)), plain(one)));
    if (all) same(changed.json, { matched: hit.length, modified: others.length }, 'how many');
    await reset(before);

    const remover = new Referee(policies, principal, 'delete');
    const gone = remover.open && remover.grantsOf(document).length > 0;
    await judge(
      (await request(who, 'DELETE', url)).status,
      gone ? before.filter((one) => one !== document) : null,
      'delete',
    );
    await reset(before);
  }

  /** A write that names a field which the policies of the document do not allow to set is rejected, changed or not. */
  function names(updater: Referee, old: Json, sent: Json): boolean {
    return updater.lets(old, leavesOf(sent));
  }

  async function feeds(
    policies: readonly PolicyLike[],
    since: string,
    log: readonly { before: Json | null; after: Json | null }[],
  ) {
    for (const principal of randomPrincipals()) {
      const referee = new Referee(policies, principal, 'read');
      const feed = await request(as(principal), 'GET', `/api/things/_changes?since=${since}`);
      if (!referee.open) continue;
      const expected = log.flatMap(({ before, after }) => {
        const [old, next] = [before && referee.seen(before), after && referee.seen(after)];
        return old === null && next === null ? [] : [{ before: old, data: next }];
      });
      counts.reported += expected.length;
      const reported = feed.json.changes.map(({ before, data }: Record<string, Json | null>) => ({
        before: before && plain(before),
        data: data && plain(data),
      }));
      same(reported, expected, `feed of ${JSON.stringify(principal)}`);
    }
  }

  async function reset(documents: readonly Json[]): Promise<void> {
    await stored.deleteMany({});
    if (documents.length > 0)
      await stored.insertMany(
        documents.map(({ id, ...fields }) => ({
          _id: String(id),
          ...withStoredNames(fields),
          _meta: { revision: 1 },
        })),
      );
  }

  let logged: object = {};
  function same(found: unknown, expected: unknown, what: string): void {
    if (isDeepStrictEqual(sorted(found), sorted(expected))) return;
    throw new Error(`${what}\n${JSON.stringify({ found, expected, ...logged }, null, 1)}`);
  }

  for (let run = 0; run < RUNS; run++) {
    const random = new Random(SEED + run);
    const policies = randomPolicies(random);
    try {
      withPolicies(services, withWrittenPaths(policies));
    } catch {
      // Contradictory policies are rejected; another random one is drawn.
      continue;
    }
    const documents = IDS.map((id) => randomDocument(random, id));
    await reset(documents);
    logged = { seed: SEED + run, policies, documents };
    for (const principal of randomPrincipals()) {
      logged = { seed: SEED + run, policies, documents, principal };
      await reads(policies, principal, random, documents);
      await writes(policies, principal, random);
    }
    const since = await settled();
    const log: { before: Json | null; after: Json | null }[] = [];
    for (const before of documents.slice(0, 4)) {
      const after = random.once(4) ? null : merge({ ...before }, randomBody(random));
      // A change of nothing is no event.
      if (!isDeepStrictEqual(after, before)) log.push({ before, after });
      const url = `/api/things/${before['id']}`;
      await (after === null ? request(boss, 'DELETE', url) : request(boss, 'PUT', url, after));
    }
    await settled();
    await feeds(policies, since, log);
  }
  t.comment(JSON.stringify(counts));
  t.ok(counts.written > 10 && counts.refused > 10 && counts.seen > 50 && counts.hidden > 0 && counts.reported > 20);

  /** The log position after everything that was written. */
  async function settled(): Promise<string> {
    let since = await position();
    const { json: marker } = await request(boss, 'POST', '/api/markers', {});
    for (;;) {
      const { events, position: next } = (await request(boss, 'GET', `/events?since=${since}&wait=10`)).json;
      if (events.some(({ documentId }: { documentId: string }) => documentId === marker.id)) return next;
      since = next;
    }
  }
});

function merge(target: Json, patch: Json): Json {
  for (const [name, value] of Object.entries(patch)) {
    const old = target[name];
    if (value === null) delete target[name];
    else target[name] = isJson(value) ? merge({ ...(isJson(old) ? old : {}) }, value) : value;
  }
  return target;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJson(value)) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(value[name])]));
}
