/**
 * Impersonating a principal equals being that principal, over HTTP and live: random policies, documents and queries,
 * each requested by an administrator that impersonates and by the principal with its own credential. MILLRACE_SEED
 * repeats a run, MILLRACE_RUNS sets the number of sets of policies; each is requested as six principals.
 */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { type Frame, openSocket, type TestSocket } from '../../helpers/live/socket.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { ask, PASSWORD, signIn, signInAdmin } from '../../helpers/users.ts';
import { type Json, randomBody, randomDocument, randomFilter, randomPolicies } from '../agreement/random-policies.ts';

const SETS = runCount(25, 1_000);
const SEED = runSeed();
const IDS = ['d1', 'd2', 'd3', 'd4', 'd5', 'd6'];
const SHAPES: readonly Json[] = [
  {},
  { sort: '-n' },
  { sort: 'team', limit: 3 },
  { sort: 'box.a' },
  { fields: ['n', 'team'] },
];
const NOBODY = { by: null, request: null };

interface Somebody {
  readonly as: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly socket: TestSocket;
  /** A socket of the administrator that impersonates this one: each has a rate of messages. */
  readonly looking: TestSocket;
}

t.setTimeout(120_000 + SETS * 2_000);
t.test('impersonating a principal equals being it', async (t) => {
  t.comment(`MILLRACE_SEED=${SEED}, ${SETS} sets of policies`);
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_RATE_LIMIT_ANONYMOUS: '1000000',
    MILLRACE_RATE_LIMIT_PRINCIPAL: '1000000',
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = await signInAdmin(app, services);
  const enter = (token?: string) => openSocket(t, url, { hello: { type: 'hello', ...(token && { token }) } });
  const look = () => enter(boss.accessToken);
  const ids = new Map<string, string>();

  const user = async (name: string, roles: readonly string[] = [], claims = {}): Promise<Somebody> => {
    const { _id } = await services.auth.users.create(
      { kind: 'user', username: name, password: PASSWORD, roles, claims },
      NOBODY,
    );
    ids.set(name, _id);
    const { headers, accessToken } = await signIn(app, name);
    return { as: `user:${_id}`, headers, socket: await enter(accessToken), looking: await look() };
  };
  const keyOf = async (): Promise<Somebody> => {
    const key = (await ask(app, 'POST /admin/keys', { name: 'k', roles: ['red'] }, boss)).json();
    ids.set('k1', key.id);
    const headers = { authorization: `Bearer ${key.key}` };
    return { as: `key:${key.id}`, headers, socket: await enter(key.key), looking: await look() };
  };
  const principals = [
    { as: 'anonymous', headers: {}, socket: await enter(), looking: await look() },
    await user('u1', ['red'], { team: 'red' }),
    await user('u2', ['blue', 'red']),
    await user('u3', [], { team: 'blue' }),
    await keyOf(),
    // A user that nothing names, with this role alone.
    { ...(await user('u4', ['blue'])), as: 'role:blue' },
  ];
  /** The same with the real ids instead of `u1`, `k1` and so on. */
  const real = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll(/"(u[123]|k1)"/g, (_, name: string) => JSON.stringify(ids.get(name))));

  await ask(app, 'POST /api/things', {}, boss);
  const stored = services.mongo.data.collection<{ _id: string }>('things');
  const reset = async (documents: readonly Json[]) => {
    await stored.deleteMany({});
    await stored.insertMany(
      documents.map(({ id, ...fields }) => ({ _id: String(id), ...fields, _meta: { revision: 1 } })),
    );
  };
  const counts = { requested: 0, shown: 0, refused: 0, live: 0, reported: 0, ended: 0 };
  let fixture: object = {};
  const same = (found: unknown, expected: unknown, what: string) => {
    if (isDeepStrictEqual(found, expected)) return;
    throw new Error(`${what}\n${JSON.stringify({ found, expected, ...fixture }, null, 1)}`);
  };

  /** The content of a response besides the id of its request, and the log position. */
  async function reported(headers: Somebody['headers'], path: string, payload?: object) {
    const method = payload === undefined ? 'GET' : 'POST';
    const response = await app.inject({ method, url: path, headers, ...(payload && { payload }) });
    const { 'x-request-id': _, date: __, 'millrace-position': ___, 'content-length': ____, ...rest } = response.headers;
    return { status: response.statusCode, headers: rest, body: response.body.replace(/,"request":"[^"]*"/, '') };
  }

  async function compareResponses({ as, headers }: Somebody, query: Json, one: string): Promise<void> {
    const sort = typeof query['sort'] === 'string' ? `sort=${query['sort']}&` : '';
    const queries: [string, object?][] = [
      [`/api/things?${sort}filter=${encodeURIComponent(JSON.stringify(query['filter']))}`],
      ['/api/things/_query', { ...query, count: 'exact' }],
      [`/api/things/${one}`],
    ];
    for (const [path, payload] of queries) {
      const own = await reported(headers, path, payload);
      same(await reported({ ...boss.headers, 'millrace-as': as }, path, payload), own, `${as}: ${path}`);
      counts.requested += 1;
      if (own.status === 200) counts.shown += 1;
      else counts.refused += 1;
    }
  }

  /** A subscription of each principal, and of the administrator as each, through changes of documents. */
  async function compareLive(queries: readonly Json[], run: number, random: Random): Promise<void> {
    const pairs = principals.map((who, index) => ({ who, id: `${run} ${index}`, query: queries[index] }));
    const settled = (socket: TestSocket, id: string) =>
      socket.frame((frame) => frame['id'] === id && /^(?:live|unsubscribed)$/.test(frame.type));
    for (const { who, id, query } of pairs) {
      who.socket.send({ type: 'subscribe', id, collection: 'things', query });
      who.looking.send({ type: 'subscribe', id, collection: 'things', query, as: who.as });
    }
    for (const { who, id } of pairs) {
      await settled(who.socket, id);
      await settled(who.looking, id);
    }
    for (const id of ['d1', 'd2']) {
      if (random.once(4)) await stored.deleteOne({ _id: id });
      else await stored.updateOne({ _id: id }, { $set: { ...real(randomBody(random)), changed: run } });
    }
    for (const { who, id, query } of pairs) {
      const shows = async (socket: TestSocket) => {
        const list = await reported(who.headers, '/api/things/_query', query);
        // A list is rejected while a claim has no value; a subscription is empty until it has one.
        const documents = list.status === 200 ? JSON.parse(list.body) : [];
        return [200, 403].includes(list.status) && isDeepStrictEqual(held(socket.of(id)), byId(documents));
      };
      const [first] = who.socket.of(id);
      if (first?.type === 'unsubscribed') {
        same(who.looking.of(id), who.socket.of(id), `${who.as}: the refusal`);
        counts.ended += 1;
        continue;
      }
      const both = async () => (await shows(who.socket)) && (await shows(who.looking));
      await until(both, `${who.as} ${id}: ${JSON.stringify(who.looking.of(id))}`).catch((error: unknown) => {
        throw new Error(JSON.stringify(fixture, null, 1), { cause: error });
      });
      const [own, seen] = [who.socket.of(id).map(plain), who.looking.of(id).map(plain)];
      same(seen, own, `${who.as}: what was told`);
      counts.live += 1;
      counts.reported += own.filter(({ type }) => type === 'change').length;
    }
    for (const { who, id } of pairs) {
      for (const socket of [who.socket, who.looking])
        if (socket.of(id).at(-1)?.type !== 'unsubscribed') socket.send({ type: 'unsubscribe', id });
    }
    for (const { socket, looking } of principals) for (const one of [socket, looking]) one.frames.length = 0;
  }

  for (let run = 0, created = 0; created < SETS; run++) {
    const random = new Random(SEED + run);
    const policies = real(randomPolicies(random));
    try {
      withPolicies(services, policies);
    } catch {
      // Contradictory policies are rejected; another random one is drawn.
      continue;
    }
    created += 1;
    const documents = real(IDS.map((id) => randomDocument(random, id)));
    await reset(documents);
    const queries = principals.map((): Json => {
      return { filter: random.once(3) ? {} : real(randomFilter(random)), ...random.pick(SHAPES) };
    });
    fixture = { seed: SEED + run, policies, documents, queries };
    for (const [index, who] of principals.entries())
      await compareResponses(who, queries[index] ?? {}, random.pick(IDS));
    await compareLive(queries, run, random);
  }
  t.comment(JSON.stringify(counts));
  const { requested, shown, refused, live, reported: changes, ended } = counts;
  t.ok(requested >= SETS * 15 && shown > SETS && refused > SETS && live > SETS && changes > SETS && ended > SETS / 2);
});

/** The documents that a client holds after these frames. */
function held(frames: readonly Frame[]): Json[] {
  const documents = new Map<string, Json>();
  for (const { type, documents: all, op, documentId, document } of frames) {
    if (type === 'reset') documents.clear();
    if (type === 'snapshot') for (const one of all as Json[]) documents.set(String(one['id']), one);
    if (type === 'change' && op === 'leave') documents.delete(String(documentId));
    else if (type === 'change') documents.set(String(documentId), document as Json);
  }
  return byId([...documents.values()]);
}

function byId(documents: readonly Json[]): Json[] {
  return documents.toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
}

/** A frame without its log position. */
function plain({ position: _, ...frame }: Frame): Json {
  return { ...frame, type: frame.type };
}
