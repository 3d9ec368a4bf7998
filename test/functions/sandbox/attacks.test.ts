/**
 * Plugins that attack a real server over HTTP, called by unauthenticated clients: escape attempts reveal nothing of the server,
 * each hostile program ends with its error in time, each call starts with a clean state where the plugin declares it, another plugin responds meanwhile and
 * afterwards, `/healthz` stays fast, and the server never ends.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { isLong } from '../../helpers/long-profile.ts';
import { runSeed } from '../../helpers/random.ts';
import { until } from '../../helpers/until.ts';
import { PASSWORD } from '../../helpers/users.ts';
import { BREATH_MS, startAttackedServer, TIMEOUT_MS } from './attacked-server.ts';
import { ISOLATIONS } from './calls.ts';
import { ESCAPES } from './escape-attempts.ts';
import { IN_ENVIRONMENT, reportsNothing, SECRET } from './escape-checks.ts';
import { HOSTILE } from './hostile-programs.ts';

/** What the server may add to the time limit of an HTTP function. */
const ADDED_MS = 1_000;
/** A program that only the timeout ends gets less time: the rest would show nothing new. */
const SHORT_MS = 200;
const NEIGHBOUR_MS = 1_000;
const MAX_HEALTH_MS = 100;
/** Error codes with which a program that does not return may end. */
const TYPED = /^function-(failed|timeout|out-of-memory)$/;

const NEIGHBOUR = `export default async ({ body }, ctx) => {
  globalThis.secret = ctx.secrets.OTHER;
  return [body, await ctx.documents('a').get('1')];
};`;

/** Searches for traces of an earlier call, and leaves many for the next. */
const REMEMBERS = `
  let calls = 0;
  const kept = [];
  export default async ({ body }, ctx) => {
    calls += 1;
    const me = ctx.principal.kind + (ctx.principal.id ?? '');
    const found = [calls, kept.length, globalThis.left, Array.prototype.left, Symbol.for('left').left, RegExp.$1, typeof later, ctx.left];
    kept.push(me); globalThis.left = me; Array.prototype.left = me; Object.prototype.later = me;
    // Some of it is frozen.
    for (const one of [Symbol.for('left'), ctx, Object.getPrototypeOf(ctx.documents), Promise.prototype.then]) Reflect.set(Object(one), 'left', me);
    /(.*)/.test(me); JSON.parse = () => me;
    Promise.resolve().then(() => { globalThis.later = me; });
    setTimeout(() => { globalThis.later = me; }, 5);
    return { found, me: ctx.principal.kind, body };
  };`;
const FRESH = [1, 0, null, null, null, '', 'undefined', null];

/**
 * Each run attacks with a third of the programs, each isolated by plugin or by call, by its seed, and the long profile with all
 * of them and in both ways: escapes.test.ts and
 * hostile.test.ts run each of them without a server in every run.
 */
const seed = runSeed();
t.comment(`MILLRACE_SEED=${seed}`);
const isTaken = (index: number) => isLong || (index + seed) % 3 === 0;
const isolationsOf = (index: number) => ISOLATIONS.filter((_, at) => isLong || (index + seed) % 2 === at);

t.setTimeout(180_000);
t.test('Attacks over HTTP fail.', async (t) => {
  const server = await startAttackedServer(t, { TEST_OF_ESCAPES: IN_ENVIRONMENT });
  const { request, owner, store, program } = server;
  await store('good', [NEIGHBOUR], { secrets: ['OTHER'] });
  await request('PUT /admin/plugins/good/secrets/OTHER', { value: SECRET }, owner);
  for (const isolation of ISOLATIONS) {
    await store(`escapes-${isolation}`, Object.values(ESCAPES), { secrets: ['OWN'], isolation });
    await request(`PUT /admin/plugins/escapes-${isolation}/secrets/OWN`, { value: 'mine' }, owner);
  }
  await store('remembers', [REMEMBERS], { isolation: 'call' });
  const neighbour = async (t: Test, when: string) => {
    const { status, text, ms } = await request('POST /fn/good/0', { n: 7 });
    t.match([status, JSON.parse(text)], [200, [{ n: 7 }, { id: '1' }]], `the neighbor responds ${when}`);
    t.ok(ms < NEIGHBOUR_MS, `${when} within ${Math.round(ms)} ms`);
  };
  const healthy = (t: Test, when: string) => {
    const times = server.health();
    const p99 = times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY;
    const figures = `${times.length} answers, p99 ${p99.toFixed(1)} ms, the slowest ${times.at(-1)?.toFixed(1)} ms`;
    t.comment(`/healthz ${when}: ${figures}`);
    t.ok(p99 < MAX_HEALTH_MS, `/healthz ${when}: ${figures}`);
  };
  await neighbour(t, 'before');
  server.health();

  const kept: string[] = [];
  for (const [index, name] of Object.keys(ESCAPES).entries()) {
    if (!isTaken(index)) continue;
    for (const isolation of isolationsOf(index))
      await t.test(`${name}, isolated by ${isolation}`, async (t) => {
        const attempt = request(`POST /fn/escapes-${isolation}/${index}`, {});
        const [response] = await Promise.all([attempt, neighbour(t, 'during')]);
        await neighbour(t, 'afterwards');
        t.ok(response.ms < TIMEOUT_MS + ADDED_MS, `it ends after ${Math.round(response.ms)} ms`);
        if (response.status >= 400) t.match(JSON.parse(response.text).code, TYPED, response.text.slice(0, 300));
        reportsNothing(t, JSON.stringify([...response.headers]) + response.text);
        kept.push(...(response.headers.get('millrace-run')?.split(',') ?? []));
      });
  }

  healthy(t, 'beside the attempts');

  const isTimed = (ends: readonly string[]) => ends.every((end) => end === 'function-timeout' || end === 'value');
  const hostile = Object.entries(HOSTILE).flatMap(([name, { code, ends }], index) => {
    const timeoutMs = isTimed(ends) ? SHORT_MS : TIMEOUT_MS;
    const isolations = isTaken(index) ? isolationsOf(index) : [];
    return isolations.map((isolation) => ({ name, code, ends, timeoutMs, isolation, plugin: `${isolation}${index}` }));
  });
  for (const { name, code, ends, timeoutMs, isolation, plugin } of hostile) {
    // Each in its own plugin: effects of one are not attributed to another.
    await store(plugin, [{ code, timeoutMs }], { isolation });
    await t.test(`${name}, isolated by ${isolation}`, async (t) => {
      let hasEnded = false;
      const attacking = request(`POST /fn/${plugin}/0`, {}).finally(() => {
        hasEnded = true;
      });
      let slowest = 0;
      while (!hasEnded) {
        const { status, text, ms } = await request('POST /fn/good/0', { n: 7 });
        slowest = Math.max(slowest, ms);
        // This error is correct if the shared process was ended.
        if (status !== 200) t.match(JSON.parse(text), { code: 'function-runtime-restarted' }, text.slice(0, 300));
        await pause(BREATH_MS);
      }
      const { status, text, ms } = await attacking;
      const ended = performance.now();
      let after = await request('POST /fn/good/0', { n: 7 });
      // Leftovers of the program may end its process during the first following call.
      while (after.status === 503 && performance.now() - ended < NEIGHBOUR_MS)
        after = await request('POST /fn/good/0', { n: 7 });
      const back = performance.now() - ended;
      t.equal(after.status, 200, after.text);
      t.ok(back < NEIGHBOUR_MS, `the neighbor responds afterwards within ${Math.round(back)} ms`);
      const end = status === 200 ? 'value' : String(JSON.parse(text).code);
      t.ok(ends.includes(end), `ends with ${end}: ${text.slice(0, 300)}`);
      t.ok(ms < timeoutMs + ADDED_MS, `ends after ${Math.round(ms)} ms`);
      t.ok(slowest < NEIGHBOUR_MS, `the neighbor responds within ${Math.round(slowest)} ms`);
    });
  }
  healthy(t, 'beside the hostile programs');

  await t.test('The stored runs of the attempts reveal nothing of the server.', async (t) => {
    t.ok(kept.length > 0, `${kept.length} runs are stored: those that failed or logged something`);
    for (const id of kept) {
      const run = () => request(`GET /admin/runs/${id}`, undefined, owner);
      await until(async () => (await run()).status === 200, 'the run is stored');
      const { error, logs } = JSON.parse((await run()).text);
      reportsNothing(t, JSON.stringify([error, logs]));
    }
  });

  await t.test('A call isolated by call leaves nothing for the next one, nor for another principal.', async (t) => {
    const credentials: (string | undefined)[] = [undefined];
    for (const username of ['ann', 'ben']) {
      await request('POST /admin/users', { username, password: PASSWORD }, owner);
      const signedIn = await request('POST /auth/login', { username, password: PASSWORD });
      credentials.push(JSON.parse(signedIn.text).accessToken);
    }
    const key = await request('POST /admin/keys', { name: 'k' }, owner);
    credentials.push(JSON.parse(key.text).key);
    const kinds = ['anonymous', 'user', 'user', 'key'];
    const call = async (turn: number) => {
      const which = turn % kinds.length;
      const { status, text } = await request('POST /fn/remembers/0', { turn }, credentials[which]);
      t.equal(status, 200, text);
      t.strictSame(JSON.parse(text), { found: FRESH, me: kinds[which], body: { turn } }, `turn ${turn}`);
    };
    for (let turn = 0; turn < 2 * kinds.length; turn += 1) await call(turn);
    await Promise.all(Array.from({ length: 40 }, (_, turn) => call(turn)));
  });

  t.doesNotThrow(() => process.kill(program.pid, 0), 'it is the same process');
  t.equal((await request('GET /healthz')).status, 200);
});
