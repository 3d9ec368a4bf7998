/** A production server in its own process, whose plugins attack it while another plugin is called and `/healthz` is measured. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Test } from 'tap';
import { testMongo } from '../../helpers/mongo.ts';
import { type Program, startProgram } from '../../helpers/programs/program.ts';
import { PASSWORD } from '../../helpers/users.ts';

const ADMIN = 'ada@example.org';
/** Pause between two requests of health, or of a neighbor. */
export const BREATH_MS = 40;

export interface Reported {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Milliseconds until the response was complete. */
  readonly ms: number;
}

export interface AttackingProgram {
  readonly code: string;
  /** Time limit of its HTTP function. */
  readonly timeoutMs: number;
}

/** Default time limit of an HTTP function. */
export const TIMEOUT_MS = 1_500;

export interface AttackedServer {
  readonly program: Program;
  /** Sends a request, anonymously or with a credential. */
  request(request: string, body?: object, credential?: string): Promise<Reported>;
  /** The credential of the administrator. */
  readonly owner: string;
  /** Stores a plugin with one HTTP function for each program, at `/fn/<plugin>/<number>`. */
  store(plugin: string, programs: readonly (string | AttackingProgram)[], more?: object): Promise<void>;
  /** Response times of `/healthz` since the last call, in milliseconds, the slowest last. */
  health(): readonly number[];
}

/** @param settings environment variables of the server */
export async function startAttackedServer(t: Test, settings: Record<string, string>): Promise<AttackedServer> {
  const { url, database } = await testMongo(t);
  const password = join(t.testdir(), 'password');
  await writeFile(password, PASSWORD, { mode: 0o600 });
  const program = await startProgram(t, {
    MONGODB_URL: url,
    MILLRACE_DB: database,
    MILLRACE_MODE: 'production',
    MILLRACE_ADMIN_EMAIL: ADMIN,
    MILLRACE_ADMIN_PASSWORD_FILE: password,
    MILLRACE_RATE_LIMIT_ANONYMOUS: '1000000',
    MILLRACE_RATE_LIMIT_PRINCIPAL: '1000000',
    MILLRACE_PLUGINS_DIR: '',
    ...settings,
  });
  const request: AttackedServer['request'] = async (request, body, credential) => {
    const [method = '', path = ''] = request.split(' ');
    const started = performance.now();
    const response = await fetch(program.url + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, ms: performance.now() - started };
  };
  const signedIn = await request('POST /auth/login', { username: ADMIN, password: PASSWORD });
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
    const created = await request(`PUT /admin/plugins/${plugin}`, body, owner);
    if (created.status !== 201) throw new Error(`${created.status}: ${created.text}`);
  };
  const everyone = { effect: 'allow', name: 'calls', resources: ['_functions'], actions: ['call'] };
  await request('POST /admin/policies', everyone, owner);
  await request('POST /admin/policies', { ...everyone, name: 'reads', resources: ['a'], actions: ['read'] }, owner);
  await request('POST /api/a', { id: '1' }, owner);
  let times: number[] = [];
  let over = false;
  const measuring = (async () => {
    while (!over) {
      const response = await request('GET /healthz').catch(() => null);
      times.push(response?.status === 200 ? response.ms : Number.POSITIVE_INFINITY);
      await pause(BREATH_MS);
    }
  })();
  t.teardown(() => {
    over = true;
    return measuring;
  });
  const health = () => {
    const requested = times;
    times = [];
    return requested.toSorted((a, b) => a - b);
  };
  return { program, request, owner, store, health };
}
