/**
 * docs/providers.md, as a user follows it: each body that it shows is a provider, "Try it on one machine" works command
 * by command, and so does the script of "In your app". Only the ports differ, because those of the page may be in use.
 */
import { execFile, execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { openIdProvider, SIMULATION, signingKey } from '../../scripts/openid-provider.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { otherOrigin, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { startMillrace } from '../helpers/programs/millrace.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signInAdmin } from '../helpers/users.ts';

const PAGE = readFileSync(new URL('../../docs/providers.md', import.meta.url), 'utf8');

t.test('each body of the providers page is a provider, and its section has its redirect URL', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const owner = await signInAdmin(app, services);
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const bodies = [...PAGE.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text = '']) => JSON.parse(text));
  t.ok(bodies.length >= 9, `${bodies.length} bodies`);
  for (const body of bodies) {
    if ('privateKey' in body) body.privateKey = String(pem);
    const response = await ask(app, 'POST /admin/providers', body, owner);
    t.equal(response.statusCode, 201, `${body.name}: ${response.body}`);
    if (body.endpoints === undefined) t.ok(PAGE.includes(`/auth/providers/${body.name}/callback`), body.name);
  }
});

t.test(
  'the walkthrough of the providers page works command by command',
  { skip: whyNoShell() ?? whyNoBrowser() ?? false, timeout: 180_000 },
  async (t) => {
    const [, section = ''] = /^## Try it on one machine\n([\s\S]*?)^## /m.exec(PAGE) ?? [];
    const [provider = '', start = '', commands = '', looks = ''] = blocksOf('sh', section);
    t.equal(provider, 'npm run openid-provider');
    t.ok(start.endsWith(' npm start'), start);
    const [port, providerPort] = [await freePort(), await freePort()];
    const here = (text: string) => text.replaceAll(':3000', `:${port}`).replaceAll(':4000', `:${providerPort}`);
    const base = `http://localhost:${port}`;

    t.match(section, `\`${SIMULATION.redirect}\``);
    const issuer = `http://localhost:${providerPort}`;
    const listener = openIdProvider({
      issuer,
      client: { ...SIMULATION.client, redirects: [here(SIMULATION.redirect)], afterLogOut: [] },
      keys: [await signingKey()],
      people: SIMULATION.people,
    });
    const server = createHttpServer(listener).listen(providerPort, '127.0.0.1');
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });

    const folder = await mkdtemp(join(tmpdir(), 'millrace-trial-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const settings = [...start.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, here(value)]);
    const app = new URL(await otherOrigin(t)).origin;
    const mongo = await testMongo(t);
    const database = { MONGODB_URL: mongo.url, MILLRACE_DB: mongo.database };
    const env = { ...Object.fromEntries(settings), ...database, PORT: String(port), MILLRACE_CORS_ORIGINS: app };
    const program = await startMillrace(t, { folder, entry: 'scripts/start.mjs', env });
    const link = () => /Setup +(http:\S+)\/dashboard\/setup#([\w-]{43})/.exec(program.output());
    await until(() => link() !== null, 'the link is printed');
    t.equal(link()?.[1], base);
    const [, , token] = link() ?? [];
    const owner = { token, email: 'ada@example.org', password: PASSWORD };
    t.equal((await send(`${base}/setup`, owner)).status, 201);

    const shell = async (text: string) =>
      (await promisify(execFile)('sh', ['-euc', here(text)], { cwd: folder })).stdout;
    const [created = '', checked = ''] = (await shell(commands)).split('\n');
    t.match(JSON.parse(created), { name: 'local', clientSecret: { set: true } });
    t.match(checked, /^\{"passed":true/);
    t.match(JSON.parse(checked), { passed: true, redirectUrl: `${base}/auth/providers/local/callback` });

    const [begin = '', end = ''] = blocksOf('js', PAGE).map((text) =>
      here(text)
        .replaceAll('https://api.example.org/auth/providers/google', `${base}/auth/providers/local`)
        .replaceAll('https://api.example.org', base)
        .replaceAll('https://app.example.org', app),
    );
    const list = blocksOf('sh', PAGE).find((text) => text.includes('/admin/settings')) ?? '';
    const signInFirst = commands.replace(/^cat [\s\S]*/m, '');
    await shell(`${signInFirst}\n${list.replaceAll('https://app.example.org', app)}`);
    const browser = await testBrowser(t);
    const page = await browser.newPage();
    await page.goto(`${app}/`);
    await page.evaluate(`(async () => { ${begin} })()`);
    await page.getByPlaceholder('Enter any login').fill('grace');
    await page.getByPlaceholder('and password').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(`${app}/signed-in?*`);
    const signedIn = await page.evaluate(`(async () => { ${end}; return { accessToken, refreshToken, user } })()`);
    t.match(signedIn, {
      accessToken: /^eyJ/,
      refreshToken: /^mrr_/,
      user: { email: 'grace@example.org', roles: ['editor'] },
    });

    const [users = '', audit = ''] = (await shell(`${signInFirst}\n${looks}`)).split('\n');
    t.match(JSON.parse(users), [
      { email: 'ada@example.org' },
      { email: 'grace@example.org', profile: { name: 'Grace Hopper' } },
    ]);
    t.match(audit, /system\.session\.created/);
  },
);

/** The code blocks of a language, without their indentation in a list. */
function blocksOf(language: string, text: string): string[] {
  const blocks = [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, 'gm'))];
  return blocks.map(([, indent = '', block = '']) => block.replace(new RegExp(`^${indent}`, 'gm'), '').trim());
}

function send(url: string, body: object): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function whyNoShell(): string | undefined {
  try {
    execFileSync('sh', ['-c', 'curl --version'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'there is no sh with curl';
  }
}
