/**
 * A server in production, in a process of its own, whose plugins attack it while another plugin is called and `/healthz` is
 * measured. Not here: the attacks (escape-attempts.ts, hostile-programs.ts).
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { PASSWORD } from '../../helpers/accounts.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { type Program, startProgram } from '../../helpers/programs/program.ts';

const OWNER = 'ada@example.org';
/** How long nothing is asked between two questions of health, or of a neighbour. */
export const BREATH_MS = 40;

export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Milliseconds until the answer was whole. */
  readonly ms: number;
}

export interface AttackingProgram {
  readonly code: string;
  /** How long its endpoint may take. */
  readonly timeoutMs: number;
}

/** How long an endpoint may take that does not say so. */
export const TIMEOUT_MS = 1_500;

export interface AttackedServer {
  readonly program: Program;
  /** Sends a request, as nobody or with a credential. */
  ask(request: string, body?: object, credential?: string): Promise<Told>;
  /** The credential of the owner. */
  readonly owner: string;
  /** Stores a plugin with one endpoint for each program, at `/fn/<plugin>/<number>`. */
  store(plugin: string, programs: readonly (string | AttackingProgram)[], more?: object): Promise<void>;
  /** How long the answers of `/healthz` took since this was asked last, in milliseconds, the slowest last. */
  health(): readonly number[];
}

/** @param settings variables of the environment, for the server */
export async function startAttackedServer(t: Test, settings: Record<string, string>): Promise<AttackedServer> {
  const { url, database } = await testMongo(t);
  const password = join(t.testdir(), 'password');
  await writeFile(password, PASSWORD, { mode: 0o600 });
  const program = await startProgram(t, {
    MONGODB_URL: url,
    MILLRACE_DB: database,
    MILLRACE_MODE: 'production',
    MILLRACE_OWNER_EMAIL: OWNER,
    MILLRACE_OWNER_PASSWORD_FILE: password,
    MILLRACE_RATE_ANONYMOUS: '1000000',
    MILLRACE_RATE_PRINCIPAL: '1000000',
    MILLRACE_PLUGINS: '',
    ...settings,
  });
  const ask: AttackedServer['ask'] = async (request, body, credential) => {
    const [method = '', path = ''] = request.split(' ');
    const started = performance.now();
    const answer = await fetch(program.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, ms: performance.now() - started };
  };
  const signedIn = await ask('POST /auth/login', { username: OWNER, password: PASSWORD });
  const owner = String(JSON.parse(signedIn.text).accessToken);
  const store: AttackedServer['store'] = async (plugin, programs, more = {}) => {
    const all = programs.map((one) => (typeof one === 'string' ? { code: one, timeoutMs: TIMEOUT_MS } : one));
    const functions = all.map(({ timeoutMs }, index) => ({
      name: `f${index}`,
      file: `f${index}.ts`,
      timeoutMs,
      http: { method: 'POST', path: `/${plugin}/${index}` },
    }));
    const files = Object.fromEntries(all.map(({ code }, index) => [`f${index}.ts`, code]));
    const body = { manifest: { name: plugin, functions, ...more }, files };
    const made = await ask(`PUT /admin/plugins/${plugin}`, body, owner);
    if (made.status !== 201) throw new Error(`${made.status}: ${made.text}`);
  };
  const everyone = { effect: 'allow', name: 'calls', collections: ['functions'], actions: ['call'] };
  await ask('POST /admin/policies', everyone, owner);
  await ask('POST /admin/policies', { ...everyone, name: 'reads', collections: ['a'], actions: ['read'] }, owner);
  await ask('POST /api/a', { id: '1' }, owner);
  let times: number[] = [];
  let over = false;
  const measuring = (async () => {
    while (!over) {
      const answer = await ask('GET /healthz').catch(() => null);
      times.push(answer?.status === 200 ? answer.ms : Number.POSITIVE_INFINITY);
      await pause(BREATH_MS);
    }
  })();
  t.teardown(() => {
    over = true;
    return measuring;
  });
  const health = () => {
    const asked = times;
    times = [];
    return asked.toSorted((a, b) => a - b);
  };
  return { program, ask, owner, store, health };
}
