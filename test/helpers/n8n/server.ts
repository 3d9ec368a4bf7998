/**
 * A complete n8n as its users run it: installed elsewhere, with the package where n8n looks for nodes, its command line
 * and its server in separate processes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { until } from '../until.ts';
import { built, FOLDER } from './package.ts';

const VARIABLE = 'MILLRACE_TEST_N8N';
const START_MS = 240_000;

/** Folder of n8n; undefined when none is configured. */
function program(): string | undefined {
  const folder = process.env[VARIABLE];
  const path = join(folder ?? '', 'node_modules/n8n/bin/n8n');
  return folder !== undefined && existsSync(path) ? path : undefined;
}

/** Why no n8n can run here; false when one can. */
export const whyNoN8n: string | false =
  program() === undefined ? `${VARIABLE} names no folder in which n8n is installed` : false;

export interface N8nServer {
  /** Imports credentials and a workflow, and publishes it. Before the start. */
  load(credentials: object, workflow: { readonly id: string }): Promise<void>;
  /** Starts the server, and signs its administrator in. */
  start(): Promise<void>;
  /**
   * Requests a route of the editor as the administrator.
   * @returns its `data`
   */
  request(request: `${'GET' | 'POST'} /${string}`, body?: object): Promise<Record<string, unknown>>;
}

/** A new n8n in a folder of its own; it ends with the test. */
export async function openN8n(t: Test): Promise<N8nServer> {
  const path = program();
  if (path === undefined) throw new Error(String(whyNoN8n));
  await built();
  const home = mkdtempSync(join(tmpdir(), 'millrace-n8n-'));
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const there = join(home, '.n8n/nodes/node_modules/n8n-nodes-millrace');
  mkdirSync(there, { recursive: true });
  // The published parts.
  for (const name of ['package.json', 'dist']) cpSync(join(FOLDER, name), join(there, name), { recursive: true });

  const [port, broker] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env['PATH'] ?? '',
    N8N_USER_FOLDER: home,
    N8N_PORT: String(port),
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_RUNNERS_BROKER_PORT: String(broker),
    WEBHOOK_URL: url,
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_SECURE_COOKIE: 'false',
  };
  let output = '';
  const run = (...words: string[]): ChildProcess => {
    const child = spawn(process.execPath, [path, ...words], { env, cwd: home, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text));
    return child;
  };
  const command = async (...words: string[]): Promise<void> => {
    const code = await new Promise((resolve) => run(...words).once('close', resolve));
    if (code !== 0) throw new Error(`n8n ${words[0]} ended with ${code}: ${output.slice(-2_000)}`);
  };

  let cookie = '';
  const send = async (request: string, body?: object): Promise<Response> => {
    const [method = '', path] = request.split(' ');
    const headers = { cookie, 'browser-id': 'test', ...(body && { 'content-type': 'application/json' }) };
    return fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  };
  const isUp = async () => (await send('GET /healthz/readiness').catch(() => null))?.ok === true;

  return {
    async load(credentials, workflow) {
      for (const [name, value] of Object.entries({ credentials, workflow })) {
        writeFileSync(join(home, `${name}.json`), JSON.stringify([value]));
        await command(`import:${name}`, `--input=${join(home, `${name}.json`)}`);
      }
      await command('publish:workflow', `--id=${workflow.id}`);
    },
    async start() {
      const child = run('start');
      const ended = new Promise((resolve) => child.once('close', resolve));
      t.teardown(async () => {
        child.kill('SIGKILL');
        await ended;
      });
      await until(isUp, `n8n is up: ${output.slice(-2_000)}`, START_MS);
      const owner = { email: 'boss@example.org', firstName: 'B', lastName: 'B', password: 'Four wooden ships 4' };
      const response = await send('POST /rest/owner/setup', owner);
      cookie = response.headers
        .getSetCookie()
        .map((text) => text.split(';')[0])
        .join('; ');
    },
    async request(request, body) {
      const response = await send(request, body);
      const text = await response.text();
      if (!response.ok) throw new Error(`${request} answered ${response.status}: ${text}`);
      return JSON.parse(text).data;
    },
  };
}

/** A port that is free now. n8n cannot choose one itself. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('It listens at a port');
  return address.port;
}
