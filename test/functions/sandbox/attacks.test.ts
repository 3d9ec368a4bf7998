/**
 * Plugins that attack a real server over HTTP, called by strangers: the attempts to escape tell nothing of the server, each hostile
 * program ends with its error in its time, each call of an endpoint begins from nothing, another plugin is answered meanwhile and
 * afterwards, `/healthz` stays quick, and the server never ends. Not here: the sandbox alone (escapes.test.ts, hostile.test.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { PASSWORD } from '../../helpers/accounts.ts';
import { until } from '../../helpers/until.ts';
import { BREATH_MS, startAttackedServer, TIMEOUT_MS } from './attacked-server.ts';
import { ESCAPES } from './escape-attempts.ts';
import { IN_ENVIRONMENT, SECRET, tellsNothing } from './escape-checks.ts';
import { HOSTILE } from './hostile-programs.ts';

/** What the server may add to the time that an endpoint may take. */
const ADDED_MS = 1_000;
/** A program that only the clock ends gets less time: nothing is learned in the rest. */
const SHORT_MS = 200;
const NEIGHBOUR_MS = 1_000;
const MAX_HEALTH_MS = 100;
/** Codes of the problems with which a program may end that does not return. */
const TYPED = /^function-(failed|timeout|out-of-memory)$/;

const NEIGHBOUR = `export default async ({ body }, ctx) => {
  globalThis.secret = ctx.secrets.OTHER;
  return [body, await ctx.documents('a').get('1')];
};`;

/** What an earlier call left is found, and much is left for the next. */
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

t.setTimeout(180_000);
t.test('attacks over HTTP', async (t) => {
  const server = await startAttackedServer(t, { TEST_OF_ESCAPES: IN_ENVIRONMENT });
  const { ask, owner, store, program } = server;
  await store('good', [NEIGHBOUR], { secrets: ['OTHER'] });
  await ask('PUT /admin/plugins/good/secrets/OTHER', { value: SECRET }, owner);
  await store('escapes', Object.values(ESCAPES), { secrets: ['OWN'] });
  await ask('PUT /admin/plugins/escapes/secrets/OWN', { value: 'mine' }, owner);
  await store('remembers', [REMEMBERS]);
  const neighbour = async (t: Test, when: string) => {
    const { status, text, ms } = await ask('POST /fn/good/0', { n: 7 });
    t.match([status, JSON.parse(text)], [200, [{ n: 7 }, { id: '1' }]], `the neighbour is answered ${when}`);
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
    await t.test(name, async (t) => {
      const [answer] = await Promise.all([ask(`POST /fn/escapes/${index}`, {}), neighbour(t, 'during')]);
      await neighbour(t, 'afterwards');
      t.ok(answer.ms < TIMEOUT_MS + ADDED_MS, `it ends after ${Math.round(answer.ms)} ms`);
      if (answer.status >= 400) t.match(JSON.parse(answer.text).code, TYPED, answer.text.slice(0, 300));
      tellsNothing(t, JSON.stringify([...answer.headers]) + answer.text);
      kept.push(...(answer.headers.get('millrace-run')?.split(',') ?? []));
    });
  }

  healthy(t, 'beside the attempts');

  const isTimed = (ends: readonly string[]) => ends.every((end) => end === 'function-timeout' || end === 'value');
  const hostile = Object.entries(HOSTILE).map(([name, { code, ends }]) => {
    return { name, code, ends, timeoutMs: isTimed(ends) ? SHORT_MS : TIMEOUT_MS };
  });
  for (const [index, { name, code, ends, timeoutMs }] of hostile.entries()) {
    // Each in a plugin of its own: what one leaves behind is not told of another.
    await store(`hostile${index}`, [{ code, timeoutMs }]);
    await t.test(name, async (t) => {
      let hasEnded = false;
      const attacking = ask(`POST /fn/hostile${index}/0`, {}).finally(() => {
        hasEnded = true;
      });
      let slowest = 0;
      while (!hasEnded) {
        const { status, text, ms } = await ask('POST /fn/good/0', { n: 7 });
        slowest = Math.max(slowest, ms);
        // It says so when the process that runs both was ended under it.
        if (status !== 200) t.match(JSON.parse(text), { code: 'function-runtime-restarted' }, text.slice(0, 300));
        await pause(BREATH_MS);
      }
      const { status, text, ms } = await attacking;
      const ended = performance.now();
      let after = await ask('POST /fn/good/0', { n: 7 });
      // What the program left behind may end its process under the first call that follows.
      while (after.status === 503 && performance.now() - ended < NEIGHBOUR_MS)
        after = await ask('POST /fn/good/0', { n: 7 });
      const back = performance.now() - ended;
      t.equal(after.status, 200, after.text);
      t.ok(back < NEIGHBOUR_MS, `the neighbour is answered afterwards within ${Math.round(back)} ms`);
      const end = status === 200 ? 'value' : String(JSON.parse(text).code);
      t.ok(ends.includes(end), `ends with ${end}: ${text.slice(0, 300)}`);
      t.ok(ms < timeoutMs + ADDED_MS, `ends after ${Math.round(ms)} ms`);
      t.ok(slowest < NEIGHBOUR_MS, `the neighbour is answered within ${Math.round(slowest)} ms`);
    });
  }
  healthy(t, 'beside the hostile programs');

  await t.test('what the owner is told of the attempts', async (t) => {
    t.ok(kept.length > 5, `${kept.length} runs are kept: those that failed or logged something`);
    for (const id of kept) {
      const run = () => ask(`GET /admin/runs/${id}`, undefined, owner);
      await until(async () => (await run()).status === 200, 'the run is kept');
      const { error, logs } = JSON.parse((await run()).text);
      tellsNothing(t, JSON.stringify([error, logs]));
    }
  });

  await t.test('nothing of a call is there for the next one, nor for another principal', async (t) => {
    const credentials: (string | undefined)[] = [undefined];
    for (const username of ['ann', 'ben']) {
      await ask('POST /admin/users', { username, password: PASSWORD }, owner);
      const signedIn = await ask('POST /auth/login', { username, password: PASSWORD });
      credentials.push(JSON.parse(signedIn.text).accessToken);
    }
    const key = await ask('POST /admin/keys', { name: 'k' }, owner);
    credentials.push(JSON.parse(key.text).key);
    const kinds = ['anonymous', 'user', 'user', 'key'];
    const call = async (turn: number) => {
      const which = turn % kinds.length;
      const { status, text } = await ask('POST /fn/remembers/0', { turn }, credentials[which]);
      t.equal(status, 200, text);
      t.strictSame(JSON.parse(text), { found: FRESH, me: kinds[which], body: { turn } }, `turn ${turn}`);
    };
    for (let turn = 0; turn < 2 * kinds.length; turn += 1) await call(turn);
    await Promise.all(Array.from({ length: 40 }, (_, turn) => call(turn)));
  });

  t.doesNotThrow(() => process.kill(program.pid, 0), 'it is the same process');
  t.equal((await ask('GET /healthz')).status, 200);
});
