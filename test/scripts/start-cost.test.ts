/**
 * What a start loads, which is most of what it costs: parts that are rarely used stay out of it. Counted in modules, which a
 * busy machine does not change, and bounded in CPU time with much to spare.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { withoutSettings } from '../helpers/programs/millrace.ts';

/** Modules of packages and of Node; and our own, of which features bring some more. */
const MAX_FOREIGN = 1_100;
const MAX_OWN = 720;
/** With compiled modules at hand, as every start has them but the first; about 0.6 on a machine of today. */
const MAX_CPU_SECONDS = 4;
/** Needed for one kind of store, of mail, of page, of download or of sign-in only; and the half of typebox that no check needs. */
const RARE = [
  'nodemailer',
  '@aws-sdk/client-s3',
  '@scalar/fastify-api-reference',
  'mongodb-memory-server-core',
  'undici',
  'openid-client',
  '@simplewebauthn/server',
  '@node-saml/node-saml',
  '@xmldom/xmldom',
  'xml-encryption',
  'file-type',
];
const RARE_PARTS = ['typebox/build/value/', 'typebox/build/compile/'];

const LOADING = `
import { registerHooks } from 'node:module';
const urls = [];
registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
const { href } = new URL('src/', '${new URL('../../', import.meta.url).href}');
await import(href + 'fastify-types.ts');
const loaded = ['services', 'app', 'cli-text', 'commands/commands', 'http/console-log', 'database/embedded/embedded'];
await Promise.all(loaded.map((name) => import(href + name + '.ts')));
const { user, system } = process.cpuUsage();
const isFetchLoaded = process.moduleLoadList.some((name) => name.endsWith('/undici/undici'));
console.log(JSON.stringify({ urls, isFetchLoaded, cpuSeconds: (user + system) / 1e6 }));
process.exit();
`;

t.test('a start loads what every server needs, and no more', async (t) => {
  const cache = await mkdtemp(join(tmpdir(), 'millrace-cache-'));
  t.teardown(() => rm(cache, { recursive: true, force: true }));
  const load = async (): Promise<{ urls: string[]; isFetchLoaded: boolean; cpuSeconds: number }> => {
    const words = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', LOADING];
    const env = { ...withoutSettings(process.env), NODE_COMPILE_CACHE: cache };
    const { stdout } = await promisify(execFile)(process.execPath, words, { env, maxBuffer: 16 * 1024 * 1024 });
    return JSON.parse(stdout);
  };
  const first = await load();
  const { urls, isFetchLoaded, cpuSeconds } = await load();
  t.comment(
    `${urls.length} modules, ${first.cpuSeconds.toFixed(2)} s of CPU, ${cpuSeconds.toFixed(2)} s the second time`,
  );
  t.ok(urls.some((url) => url.includes('/mongodb/')) && urls.some((url) => url.endsWith('/src/app.ts')));
  const own = urls.filter((url) => !url.startsWith('node:') && !url.includes('/node_modules/')).length;
  t.ok(urls.length - own <= MAX_FOREIGN, `${urls.length - own} modules of others`);
  t.ok(own <= MAX_OWN, `${own} modules of our own`);
  t.ok(cpuSeconds < MAX_CPU_SECONDS, `${cpuSeconds} s of CPU`);
  t.notOk(isFetchLoaded, 'fetch of Node, which an import of node:http loads');
  for (const rare of [...RARE.map((name) => `/node_modules/${name}/`), ...RARE_PARTS])
    t.notOk(
      urls.some((url) => url.includes(rare)),
      rare,
    );
});
