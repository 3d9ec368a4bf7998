/** Reports about plugins: data of accounts in runs, writes that must be checked, bytes of responses, secrets of folders. */
import assert from 'node:assert/strict';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from './identity.ts';
import type { Product, Reply, Report } from './report.ts';

const PASSWORD = 'nine small green lamps';

async function until<T>(find: () => Promise<T | undefined | false>, what: string): Promise<T> {
  for (const end = performance.now() + 20_000; ; await pause(50)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) throw new Error(`Not within 20 s: ${what}`);
  }
}

/** The access token of a new owner with one role. */
async function ownerWith({ call }: Product, role: string): Promise<string> {
  const username = `${role}-${Math.random().toString(36).slice(2, 8)}`;
  const user = { kind: 'admin', username, email: `${username}@example.org`, password: PASSWORD, roles: [role] };
  await expect(call('POST', '/admin/users', { body: user }), 201);
  return (await expect(call('POST', '/auth/login', { body: { username, password: PASSWORD }, token: null }), 200))
    .accessToken;
}

/** Stores a plugin of one function. */
function put({ call }: Product, name: string, use: object, code: string, token?: string): Promise<Reply> {
  const manifest = { name, functions: [{ name: 'main', file: 'main.js', ...use }] };
  return call('PUT', `/admin/plugins/${name}`, {
    body: { manifest, files: { 'main.js': code } },
    ...(token === undefined ? {} : { token }),
  });
}

async function accountsInRuns(product: Product): Promise<void> {
  const { call } = product;
  const [developer, viewer] = [await ownerWith(product, 'developer'), await ownerWith(product, 'viewer')];
  const user = (username: string) =>
    expect(call('POST', '/admin/users', { body: { username, password: PASSWORD } }), 201);
  const on = ['system.user.created'];
  await expect(put(product, 'greet', { on }, 'export default (event) => event;'), 201);
  await expect(put(product, 'fails', { on }, 'export default ({ data }) => { throw new Error(data.username); };'), 201);
  await user('planted-name');
  const runOf = (plugin: string, state: string) =>
    until(
      async () => (await call('GET', `/admin/runs?plugin=${plugin}&state=${state}`)).body[0] as { id: string },
      `${plugin} is ${state}`,
    );
  const [ok, waiting] = [await runOf('greet', 'succeeded'), await runOf('fails', 'pending')];
  const isHidden = async (token: string) => {
    for (const path of [`/admin/runs/${ok.id}`, `/admin/runs/${waiting.id}`, '/admin/runs']) {
      const { status, body } = await call('GET', path, { token });
      assert.equal(status, 200);
      assert.doesNotMatch(JSON.stringify(body), /planted-name/, path);
    }
  };
  assert.match(JSON.stringify((await call('GET', `/admin/runs/${ok.id}`)).body), /planted-name/);
  for (const token of [developer, viewer]) await isHidden(token);
  // The developer stores code that shows its input, for events that everybody may read.
  for (const plugin of ['greet', 'fails']) {
    await expect(put(product, plugin, { on: ['none.created'] }, 'export default (input) => input;', developer), 200);
  }
  for (const token of [developer, viewer]) await isHidden(token);
  for (const { id } of [ok, waiting]) {
    assert.notEqual((await call('POST', `/admin/runs/${id}/rerun`, { token: developer })).status, 202);
  }
  await pause(2_500);
  assert.equal((await call('GET', `/admin/runs/${waiting.id}`)).body.state, 'pending', 'the new code is not given it');
  assert.equal((await call('GET', `/admin/runs/${ok.id}`)).body.restricted, true);
}

async function faultyHooks(product: Product): Promise<void> {
  const { call, plugins } = product;
  const manifest = (name: string, more: object = {}, file = 'main.js') => {
    const beforeWrite = { collections: [name] };
    return JSON.stringify({ name, functions: [{ name: 'check', file, beforeWrite }], ...more });
  };
  const write = async (name: string, json: string, script: string | null) => {
    await mkdir(join(plugins, name));
    if (script !== null) await writeFile(join(plugins, name, 'main.js'), script);
    await writeFile(join(plugins, name, 'plugin.json'), json);
  };
  await writeFile(join(plugins, '..', 'elsewhere.js'), 'export default () => undefined;');
  const fine = 'export default () => undefined;';
  await write('hmissing', manifest('hmissing'), null);
  await write('hlarge', manifest('hlarge'), `//${'x'.repeat(1_100_000)}\n${fine}`);
  await write('hlinked', manifest('hlinked'), null);
  await symlink(join(plugins, '..', 'elsewhere.js'), join(plugins, 'hlinked', 'main.js'));
  await write('hfolder', manifest('hfolder'), null);
  await mkdir(join(plugins, 'hfolder', 'main.js'));
  await write('hmember', manifest('hmember', { surprising: true }), fine);
  await write('hname', manifest('hname').replace('"name":"hname"', '"name":"other"'), fine);
  await write('hsyntax', manifest('hsyntax'), 'export default (');
  await write('hpath', manifest('hpath', {}, '../main.js'), fine);
  const names = ['hmissing', 'hlarge', 'hlinked', 'hfolder', 'hmember', 'hname', 'hsyntax', 'hpath'];
  for (const name of names) {
    const reply = await until(async () => {
      const one = await call('POST', `/api/${name}`, { body: { n: 1 } });
      return one.status !== 201 && one;
    }, `${name} refuses`);
    assert.deepEqual([reply.status, reply.body.code], [503, 'write-hook-unavailable'], name);
    assert.match(reply.body.hint, new RegExp(`'${name}'`));
    assert.match(product.log(), new RegExp(`'${name}' has errors`));
    assert.deepEqual((await call('GET', `/admin/plugins/${name}`)).body.blockedCollections, [name]);
  }
  await expect(call('POST', '/api/unchecked', { body: { n: 1 } }), 201);
  // What cannot be read at all may check every write.
  await write('hjson', '{"name": "hjson", functions: []}', fine);
  const posted = async () => (await call('POST', '/api/unchecked', { body: { n: 1 } })).status;
  await until(async () => (await posted()) === 503, 'a manifest that is no JSON refuses all');
  await rm(join(plugins, 'hjson'), { recursive: true });
  await until(async () => (await posted()) === 201, 'it is gone');
  await writeFile(join(plugins, 'hmissing', 'main.js'), fine);
  await until(async () => (await call('POST', '/api/hmissing', { body: {} })).status === 201, 'it is repaired');
  for (const name of names) await rm(join(plugins, name), { recursive: true });
}

/** Code of a Response, with the bytes and the type that have to arrive. */
const RESPONSES: Readonly<Record<string, readonly [readonly number[], string]>> = {
  'new Response(new Uint8Array([0,255,1]))': [[0, 255, 1], 'application/octet-stream'],
  'new Response(new Uint8Array([0,255,1]).buffer)': [[0, 255, 1], 'application/octet-stream'],
  'new Response(new Uint8Array([9,0,255,1,9]).subarray(1,4))': [[0, 255, 1], 'application/octet-stream'],
  'new Response(new DataView(new Uint8Array([9,255,1]).buffer,1))': [[255, 1], 'application/octet-stream'],
  'new Response(new Uint16Array([65280]))': [[0, 255], 'application/octet-stream'],
  'new Response(new Uint8Array([137,80]),{headers:{"Content-Type":"image/png"}})': [[137, 80], 'image/png'],
  'new Response(new Blob([new Uint8Array([0,255]),"a"],{type:"font/woff2"}))': [[0, 255, 97], 'font/woff2'],
  'new Response((function*(){yield new Uint8Array([0]);yield new Uint8Array([255])})())': [
    [0, 255],
    'application/octet-stream',
  ],
  'new Response(new ReadableStream({start(c){c.enqueue(new Uint8Array([200,1]));c.close()}}))': [
    [200, 1],
    'application/octet-stream',
  ],
  'new Response(new Uint8Array(0))': [[], 'application/octet-stream'],
  'new Response("ä")': [[195, 164], 'text/plain; charset=utf-8'],
};

async function bytesOfResponses(product: Product): Promise<void> {
  const cases = Object.keys(RESPONSES);
  const code = `export default ({ query }) => [${cases.map((one) => `() => ${one}`).join(',')}][query.n]();`;
  await expect(put(product, 'bytes', { http: { method: 'GET', path: '/bytes' } }, code), 201);
  const headers = { authorization: `Bearer ${product.admin}` };
  for (const [n, one] of cases.entries()) {
    const response = await fetch(`${product.url}/fn/bytes?n=${n}`, { headers });
    const [bytes, type] = RESPONSES[one] ?? [];
    const got = [...new Uint8Array(await response.arrayBuffer())];
    assert.deepEqual([response.status, got, response.headers.get('content-type')], [200, bytes, type], one);
  }
}

async function secretsOfFolders(product: Product): Promise<void> {
  const { call, plugins } = product;
  const developer = await ownerWith(product, 'developer');
  const http = { method: 'GET', path: '/keeps' };
  const manifest = { name: 'keeps', secrets: ['KEY'], functions: [{ name: 'main', file: 'main.js', http }] };
  const script = 'export default (_, ctx) => ({ has: ctx.secrets.KEY !== undefined });';
  await mkdir(join(plugins, 'keeps'));
  await writeFile(join(plugins, 'keeps', 'main.js'), script);
  await writeFile(join(plugins, 'keeps', 'plugin.json'), JSON.stringify(manifest));
  await until(async () => (await call('GET', '/admin/plugins/keeps')).status === 200, 'it is read');
  await expect(call('PUT', '/admin/plugins/keeps/secrets/KEY', { body: { value: 'planted-secret' } }), 204);
  const has = async (draft: object) => {
    const body = { function: 'main', input: null, ...draft };
    return (await expect(call('POST', '/admin/plugins/keeps/dry-run', { body, token: developer }), 200)).result?.has;
  };
  assert.equal(await has({}), true, 'the code of the folder');
  const spelled =
    'export default (_, ctx) => ({ has: ctx.secrets.KEY !== undefined, all: [...(ctx.secrets.KEY ?? "")] });';
  for (const draft of [
    { files: { 'main.js': spelled } },
    { files: { 'main.js': script, 'more.js': 'export {};' } },
    { manifest: { ...manifest, fetch: ['example.org'] } },
    {
      manifest: { ...manifest, functions: [{ name: 'main', file: 'other.js', http }] },
      files: { 'other.js': spelled },
    },
  ]) {
    assert.notEqual(await has(draft), true, JSON.stringify(draft).slice(0, 80));
  }
  const replaced = await call('PUT', '/admin/plugins/keeps', {
    body: { manifest, files: { 'main.js': spelled } },
    token: developer,
  });
  assert.equal(replaced.body.code, 'plugin-in-folder');
}

async function smallOnes(product: Product): Promise<void> {
  const { call } = product;
  const hook =
    'export default ({ document }) => document.result === "null" ? null : document.result === "nan" ? NaN : undefined;';
  await expect(put(product, 'nulls', { beforeWrite: { collections: ['nulls'] } }, hook), 201);
  const create = async (result: string) => (await call('POST', '/api/nulls', { body: { id: result, result } })).status;
  await until(async () => (await create('null')) === 500, 'null refuses the write');
  assert.deepEqual([await create('nan'), await create('undefined')], [500, 201]);
  const code = `export default ({ query: { mb, kind } }) => {
    const all = [];
    for (let n = 0; n < mb; n += 1) all.push(kind === 'bytes' ? new Uint8Array(1048576).fill(1) : new Array(131072).fill(n + 0.5));
    return new Response(String(all.length), { headers: { Vary: 'x-tea' } });
  };`;
  await expect(put(product, 'memory', { http: { method: 'GET', path: '/memory' } }, code), 201);
  const got = (mb: number, kind: string) => call('GET', `/fn/memory?mb=${mb}&kind=${kind}`);
  for (const kind of ['bytes', 'objects']) {
    await until(async () => (await got(1, kind)).status === 200, 'it is active');
    const { status, headers, body } = await got(60, kind);
    assert.deepEqual(
      [status, body, headers.get('vary')],
      [200, '60', 'Authorization, Accept, Origin, Millrace-As, x-tea'],
    );
    const tooMuch = await got(300, kind);
    assert.deepEqual([tooMuch.status, tooMuch.body.code], [503, 'function-out-of-memory'], kind);
  }
  const versions = await expect(call('GET', '/admin/plugins/memory/versions'), 200);
  const one = await expect(call('GET', '/admin/plugins/memory/versions/1'), 200);
  const { version } = await expect(call('GET', '/admin/plugins/memory'), 200);
  assert.deepEqual([versions[0].version, one.version, version], ['1', '1', '1']);
  const { events } = await expect(call('GET', '/events?last=50&types=system.plugin.created'), 200);
  assert.equal(events.at(-1).data.version, '1');
  const large = await call('POST', '/fn/memory', { body: JSON.stringify('x'.repeat(1_048_577)) });
  assert.equal(large.status, 413);
  assert.doesNotMatch(JSON.stringify(large.body), /MILLRACE_/);
}

export const reports: readonly Report[] = [
  {
    point: 'H1',
    title: 'Data of accounts in runs is hidden by what the runs recorded, not by the code now',
    run: accountsInRuns,
  },
  {
    point: 'H2',
    title: 'A folder with a hook that cannot run refuses the writes that it would check',
    run: faultyHooks,
  },
  { point: 'H4', title: 'The bytes of a Response arrive as they are', run: bytesOfResponses },
  { point: 'H6', title: 'A try with other code gets no secrets of a plugin in a folder', run: secretsOfFolders },
  {
    point: 'H7',
    title: 'Results, memory, versions, limits and headers of functions are as documented',
    run: smallOnes,
  },
];
