/**
 * Functions of every kind that leak the secrets of their plugin, in the real sandbox: they log, throw, return and send them, in
 * many forms. Then everything that the server stores and returns is searched. Not searched, because it is the author's intention:
 * responses of HTTP functions to their caller, fetches, and inputs of jobs.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createPluginFixture } from '../../helpers/functions/plugin-fixture.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { Planted } from '../../helpers/planted.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

const CORE = randomBytes(24).toString('hex');
const TOKEN = `Tk${randomBytes(36).toString('base64url')}Q`;
const SECRETS = { TOKEN, ODD: `p/a+s "w\u00f6rd"\n& ${CORE} ~ end` };

/** Ways to leak. Each throws at the end, unless it returns a value. */
const WAYS = `
  const utf8 = (text) => String.fromCharCode(...new TextEncoder().encode(text));
  const hex = (text) => [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const forms = (secret) => [
    secret, JSON.stringify({ secret }), JSON.stringify(JSON.stringify({ secret })), encodeURIComponent(secret), encodeURI(secret),
    new URLSearchParams({ secret }).toString(), btoa(secret), btoa(utf8(secret)), btoa(utf8(JSON.stringify({ secret }))),
    btoa('user:' + utf8(secret)), encodeURIComponent(btoa(utf8(secret))), hex(secret), hex(secret).toUpperCase(),
  ];
  const caught = async (asked) => {
    const error = await asked.then(() => null, (error) => error);
    if (error === null) throw new Error('It was not refused');
    return error;
  };
  export const ways = {
    async log(ctx, all) {
      for (const text of all) console.log('log:', text);
      ctx.log.warn({ all });
      console.error(new Error(all.join(' ')), all);
    },
    throw(ctx, all) { throw new Error(all.join(' ')); },
    stack(ctx, all) {
      const error = new Error('With a stack');
      error.stack = 'Error: With a stack\\n' + all.map((text) => '    at ' + text + ' (a.ts:1:1)').join('\\n');
      throw error;
    },
    named(ctx, all) { throw Object.assign(new TypeError('Named'), { name: all[0], message: all[1] }); },
    object(ctx, all) { throw { all }; },
    text(ctx, all) { throw all.join(' '); },
    cut(ctx) { throw new Error('x'.repeat(1_960) + ctx.secrets.TOKEN); },
    async details(ctx, all) {
      const error = await caught(ctx.documents('notes').create({ [all[0]]: { constructor: { prototype: all[1] } } }));
      throw new Error(error.message + JSON.stringify(error.details) + JSON.stringify(all));
    },
    async fetch(ctx, all) {
      const { TOKEN } = ctx.secrets;
      const urls = ['https://' + TOKEN + '.example.com/', 'http://127.0.0.1:1/?key=' + all[3], 'nothing ' + TOKEN];
      const errors = [];
      for (const url of urls) errors.push(await caught(ctx.fetch(url, { headers: { authorization: 'Bearer ' + TOKEN } })));
      errors.push(await caught(ctx.fetch('http://127.0.0.1:1/', { headers: { 'x-key': all[0] } })));
      throw new Error(errors.map((error) => error.message + JSON.stringify(error)).join('; '));
    },
    async target(ctx, all) {
      const { TOKEN } = ctx.secrets;
      const documents = ctx.documents('notes');
      for (const id of [TOKEN, 'x'.repeat(150) + TOKEN]) await documents.get(id).catch(console.warn);
      const errors = [await caught(ctx.hmac(TOKEN, 'x')), await caught(ctx.files.text(TOKEN))];
      errors.push(await caught(ctx.documents(TOKEN + '$').list({ filter: { [all[0]]: { $wrong: all[0] } } })));
      throw new Error(errors.map(({ message, details }) => message + JSON.stringify(details)).join('; '));
    },
    kept(ctx, all) {
      console.log('It logs, so its run is kept');
      return { all, [all[0]]: all[1] };
    },
  };
  export const run = (way, ctx) => ways[way](ctx, Object.values(ctx.secrets).flatMap(forms));`;

const FILES = {
  'ways.ts': WAYS,
  'spill.ts': `import { run } from './ways.ts';
    export default async ({ params }, ctx) => {
      if (params.way === 'header') return new Response('x', { headers: { ['x ' + ctx.secrets.TOKEN]: '1' } });
      if (params.way === 'value') return new Response('x', { headers: { [ctx.secrets.TOKEN]: '\\u2028' } });
      if (params.way === 'later') return ctx.schedule('later', { way: 'throw' });
      return run(params.way, ctx);
    };`,
  'follow.ts': `import { run } from './ways.ts';
    export default ({ data }, ctx) => run(data.way, ctx);`,
  'work.ts': `import { run } from './ways.ts';
    export default ({ way = 'kept' }, ctx) => run(way, ctx);`,
  'look.ts': `import { run } from './ways.ts';
    export default async ({ document: { way } }, ctx) => {
      const { TOKEN, ODD } = ctx.secrets;
      if (way === 'refuse') throw new Refusal(ODD, { code: TOKEN, pointer: '/' + TOKEN });
      if (way === 'long') throw new Refusal(btoa(TOKEN), { code: 'x'.repeat(60) + TOKEN });
      if (way === 'unusable') return { [TOKEN]: '\\ud800' };
      await run(way, ctx);
    };`,
};
const MANIFEST = {
  name: 'careless',
  functions: [
    { name: 'spill', file: 'spill.ts', http: { method: 'POST', path: '/spill/:way' } },
    { name: 'follow', file: 'follow.ts', on: ['spills.created'] },
    { name: 'nightly', file: 'work.ts', cron: '0 3 1 1 *' },
    { name: 'later', file: 'work.ts', job: true },
    { name: 'look', file: 'look.ts', beforeWrite: { collections: ['orders'], actions: ['create'] } },
  ],
  fetch: ['127.0.0.1:1'],
  secrets: ['TOKEN', 'ODD'],
};
const FAULTY = ['throw', 'stack', 'named', 'object', 'text', 'cut', 'details', 'fetch', 'target'];

t.test('Functions that leak their secrets in any form expose none of them.', async (t) => {
  const settings = { MILLRACE_FUNCTIONS: 'on', MILLRACE_EGRESS_ALLOW: '127.0.0.1/32' };
  const { app, boss, services, lines } = await createPluginFixture(t, { settings });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const planted = new Planted();
  const middle = (text: string, encoding: BufferEncoding = 'utf8') =>
    Buffer.from(text, encoding).toString('base64').slice(4, -8);
  planted.plant('the core of the odd one', CORE);
  planted.plant('its hexadecimal', Buffer.from(CORE).toString('hex'));
  planted.plant('its hexadecimal in capitals', Buffer.from(CORE).toString('hex').toUpperCase());
  planted.plant('its base64', middle(SECRETS.ODD));
  planted.plant('its base64 by characters', middle(SECRETS.ODD, 'latin1'));
  planted.plant('its base64 in JSON', middle(JSON.stringify(SECRETS.ODD).slice(1)));
  planted.plant('the beginning of the token', TOKEN.slice(0, 24));
  planted.plant('the token in small letters', TOKEN.toLowerCase());
  planted.plant('its base64 in a longer text', middle(`user:${TOKEN}`).slice(8));
  const checked = async (where: string, requested: ReturnType<typeof boss>) => {
    const response = await requested;
    planted.look(where, `${response.body}${JSON.stringify(response.headers)}`);
    return response;
  };

  t.equal((await boss('PUT /admin/plugins/careless', { manifest: MANIFEST, files: FILES })).statusCode, 201);
  for (const [name, value] of Object.entries(SECRETS)) {
    const response = await checked('a set', boss(`PUT /admin/plugins/careless/secrets/${name}`, { value }));
    t.equal(response.statusCode, 204);
  }
  const live = await openStream(t, `${address}/admin/runs/live`, speakingAs(services)(owner()));
  await until(() => services.functions.runs.live.isWatched, 'a watcher is connected');

  for (const way of [...FAULTY, 'header', 'value']) {
    const response = await checked(`the answer of an endpoint: ${way}`, boss(`POST /fn/spill/${way}`));
    t.match(response.json(), { status: 500, code: 'function-failed' }, way);
  }
  t.equal((await boss('POST /fn/spill/log')).statusCode, 204);
  t.match((await boss('POST /fn/spill/kept')).body, TOKEN, 'the caller gets what the author gives');
  t.equal((await checked('the answer to a schedule', boss('POST /fn/spill/later'))).statusCode, 200);

  for (const way of [...FAULTY, 'log', 'unusable', 'refuse', 'long']) {
    const response = await checked(`the answer to a write: ${way}`, boss('POST /api/orders', { way }));
    const status = way === 'log' ? 201 : way === 'refuse' || way === 'long' ? 422 : 500;
    t.equal(response.statusCode, status, `${way}: ${response.body}`);
    await checked(
      'a batch',
      boss('POST /batch', { operations: [{ method: 'POST', path: '/api/orders', body: { way } }] }),
    );
  }
  const spilt = ['log', 'kept', ...FAULTY];
  await boss(
    'POST /api/spills',
    spilt.map((way) => ({ way })),
  );

  for (const fn of ['spill', 'follow', 'nightly', 'later', 'look']) {
    // The handling of results and inputs differs by kind; the forms are the same for all.
    for (const way of fn === 'follow' ? [...FAULTY, 'log', 'kept'] : ['throw', 'kept']) {
      const input = { way, params: { way }, data: { way }, document: { way } };
      const response = await checked(
        `a try of ${fn}: ${way}`,
        boss('POST /admin/plugins/careless/dry-run', { function: fn, input }),
      );
      t.match(
        response.json(),
        FAULTY.includes(way) ? { error: { code: 'function-failed' } } : { error: undefined },
        way,
      );
    }
  }
  const draft = { manifest: MANIFEST, files: { ...FILES, 'work.ts': FILES['look.ts'] } };
  const input = { document: { way: 'throw' } };
  await checked(
    'a try of a draft',
    boss('POST /admin/plugins/careless/dry-run', { ...draft, function: 'look', input }),
  );

  const runs = async (query: string) =>
    (await checked('the list of runs', boss(`GET /admin/runs?limit=1000&${query}`))).json();
  const waiting = async () =>
    (await runs('functionName=follow')).filter((run: { error: unknown }) => run.error !== null);
  await until(async () => (await waiting()).length === FAULTY.length, 'each trigger has failed');
  await until(
    async () => (await runs('functionName=follow&state=succeeded')).length === 2,
    'the others have ended well',
  );
  await until(async () => (await runs('functionName=later'))[0]?.error, 'the job has failed');
  const [again] = await runs('functionName=follow&state=succeeded');
  t.equal((await checked('a repetition', boss(`POST /admin/runs/${again.id}/rerun`))).statusCode, 202);
  await until(async () => (await runs('functionName=follow&state=succeeded')).length === 3, 'the repetition has ended');
  const kept = async () =>
    (await runs('functionName=spill')).length >= FAULTY.length + 4 && (await runs('functionName=look')).length > 12;
  await until(kept, 'the runs are stored');
  for (const { id } of await runs('')) await checked('a run', boss(`GET /admin/runs/${id}`));

  const reported = async () => (await boss('GET /admin/audit?limit=1000')).body.includes('system.run.attempt-failed');
  await until(reported, 'the audit');
  for (const path of [
    'plugins',
    'plugins/careless',
    'plugins/careless/versions',
    'plugins/careless/versions/1',
    'jobs',
  ]) {
    await checked(`/admin/${path}`, boss(`GET /admin/${path}`));
  }
  for (const path of [
    'admin/state',
    'events/audit/audit?limit=1000',
    'events?since=1-0&limit=1000',
    'openapi.json',
    'readyz',
  ] as const) {
    await checked(`/${path}`, boss(`GET /${path}`));
  }
  await planted.lookThrough(services);
  for (const line of lines) planted.look('the log', line);
  t.ok(live.events.length > 100, `${live.events.length} reported live`);
  for (const event of live.events) planted.look('the live stream', JSON.stringify(event));
  live.close();
  t.ok(planted.checked > 500, `${planted.checked} places`);
  t.strictSame([...new Set(planted.found)], []);
});
