/**
 * A Keycloak, started from the folder of its distribution in MILLRACE_TEST_KEYCLOAK, with a database in memory. Its
 * REST API replaces the steps that docs/saml.md and docs/providers.md describe for its console. It needs Java.
 */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { findFreePort } from '../../../src/database/embedded/port.ts';

const START_MS = 240_000;
const ADMIN = 'admin';

export interface Keycloak {
  readonly origin: string;
  /** Posts to the REST API for administrators, below `/admin/realms`. */
  post(path: string, body: object): Promise<void>;
}

/** Why no Keycloak can run here, or undefined when one can. */
export function whyNoKeycloak(): string | undefined {
  return folder() === undefined ? 'MILLRACE_TEST_KEYCLOAK names no folder of a Keycloak' : undefined;
}

/** Starts a Keycloak; it ends with the test. */
export async function startKeycloak(t: Pick<Test, 'teardown'>): Promise<Keycloak> {
  const [home, port] = [resolve(folder() ?? ''), await findFreePort()];
  const origin = `http://127.0.0.1:${port}`;
  const child = spawn(join(home, 'bin', 'kc.sh'), ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // The script starts Java; both end together.
    detached: true,
    env: {
      ...process.env,
      KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN,
      KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN,
      KC_DB: 'dev-mem',
    },
  });
  const ended = new Promise<void>((done) => child.once('close', () => done()));
  t.teardown(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
  });
  await new Promise<void>((done, fail) => {
    let output = '';
    const failed = (why: string) => {
      clearTimeout(timer);
      fail(new Error(`Keycloak ${why}:\n${output}`));
    };
    const timer = setTimeout(() => failed('did not start in time'), START_MS);
    child.once('close', () => failed('ended'));
    const look = (chunk: Buffer) => {
      output += chunk;
      // Its line "Keycloak … started in …s. Listening on: …" is printed when it responds.
      if (!/ Listening on: /.test(output)) return;
      clearTimeout(timer);
      done();
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
  });
  const post = async (path: string, body: object) => {
    const response = await fetch(`${origin}/admin/realms${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${await adminToken(origin)}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`Keycloak answers ${path} with ${response.status}: ${await response.text()}`);
  };
  return { origin, post };
}

async function adminToken(origin: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'password',
    client_id: 'admin-cli',
    username: ADMIN,
    password: ADMIN,
  });
  const response = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, { method: 'POST', body });
  const { access_token: token }: { access_token?: unknown } = Object(await response.json());
  if (typeof token !== 'string') throw new Error(`Keycloak gives its administrator no token: ${response.status}`);
  return token;
}

function folder(): string | undefined {
  return process.env['MILLRACE_TEST_KEYCLOAK'];
}
