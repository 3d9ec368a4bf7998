/** Starts products for reports: the real program, on a MongoDB that all of them share. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { startMillrace, withoutSettings } from '../helpers/programs/millrace.ts';
import type { CallOptions, Mode, Product, Reply } from './report.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const ADMIN = { email: 'ada@example.org', password: 'four wooden ships sail' };

/** What ends with a report or with the run, in the reverse order. */
type Ending = (end: () => Promise<unknown>) => void;

export class Products {
  readonly #mongo: string;
  readonly #client: MongoClient;
  readonly #root: string;

  private constructor(mongo: string, client: MongoClient, root: string) {
    this.#mongo = mongo;
    this.#client = client;
    this.#root = root;
  }

  /** Starts the database that the products share. */
  static async open(ending: Ending): Promise<Products> {
    const root = await mkdtemp(join(tmpdir(), 'millrace-reports-'));
    ending(() => rm(root, { recursive: true, force: true }));
    const mongo = await startEmbeddedDatabase({ folder: join(root, 'mongo') });
    ending(() => mongo.stop());
    const client = new MongoClient(mongo.url);
    ending(() => client.close());
    return new Products(mongo.url, client, root);
  }

  async start(mode: Mode, settings: Readonly<Record<string, string>>, ending: Ending): Promise<Product> {
    const name = `reports_${randomBytes(6).toString('hex')}`;
    const folder = join(this.#root, name);
    const plugins = join(folder, 'plugins');
    await mkdir(plugins, { recursive: true });
    const env = {
      MONGODB_URL: this.#mongo,
      MILLRACE_DB: name,
      MILLRACE_MODE: mode,
      MILLRACE_PLUGINS_DIR: plugins,
      MILLRACE_DATA_DIR: folder,
      ...settings,
    };
    const program = await startMillrace({ teardown: (end) => ending(async () => await end()) }, { folder, env });
    const send = (method: string, path: string, options: CallOptions) => call(program.url, method, path, options);
    const admin = await createAdmin(env, folder, send);
    return {
      mode,
      folder,
      plugins,
      admin,
      url: program.url,
      pid: program.child.pid ?? 0,
      database: this.#client.db(name),
      log: () => program.output(),
      call: (method, path, options = {}) => send(method, path, { token: admin, ...options }),
      another: (others) => this.start(mode, others, ending),
    };
  }
}

async function createAdmin(
  env: Readonly<Record<string, string>>,
  folder: string,
  send: (method: string, path: string, options: CallOptions) => Promise<Reply>,
): Promise<string> {
  const file = join(folder, 'password.txt');
  await writeFile(file, ADMIN.password);
  await promisify(execFile)(process.execPath, [MAIN, 'admin', '--email', ADMIN.email, '--password-file', file], {
    env: { ...withoutSettings(process.env), ...env },
  });
  const reply = await send('POST', '/auth/login', {
    body: { username: ADMIN.email, password: ADMIN.password },
    token: null,
  });
  if (reply.status !== 200) throw new Error(`The administrator cannot sign in: ${JSON.stringify(reply.body)}`);
  return reply.body.accessToken;
}

async function call(url: string, method: string, path: string, options: CallOptions): Promise<Reply> {
  const { body, headers = {}, token = null } = options;
  const response = await fetch(`${url}${path}`, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
}
