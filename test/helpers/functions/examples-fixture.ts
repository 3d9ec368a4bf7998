/** The examples of plugins on the real program: loaded from their folder, run in the real sandbox. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import type { CallReport } from '../../../src/functions/calling/call-types.ts';
import { newRunId } from '../../../src/functions/runs/run-row.ts';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../app.ts';
import { until } from '../until.ts';
import { ask } from '../users.ts';

const EXAMPLES = fileURLToPath(new URL('../../../plugins/examples', import.meta.url));

export interface ExampleFixture {
  readonly app: FastifyInstance;
  readonly services: Services;
  /** Sends a request and returns the status and the JSON of its response. */
  send(request: Parameters<typeof ask>[1], body?: object): Promise<{ readonly status: number; readonly json: unknown }>;
  /** Calls a function as the server itself does at its scheduled time. */
  call(fn: string, input: unknown): Promise<CallReport>;
  /** The runs of the plugin in a state, the newest first. */
  runs(state: string): Promise<readonly unknown[]>;
}

/**
 * A server that has one example in a folder of its own; its functions are enabled.
 * @param replaced texts in its manifest and scripts that are replaced here
 */
export async function exampleFixture(
  t: Test,
  name: string,
  replaced: Readonly<Record<string, string>> = {},
): Promise<ExampleFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-example-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(EXAMPLES, name), join(folder, name), { recursive: true });
  for (const path of readdirSync(join(folder, name), { recursive: true }).map(String)) {
    if (!/\.(ts|json)$/.test(path)) continue;
    const text = readFileSync(join(folder, name, path), 'utf8');
    const changed = Object.entries(replaced).reduce((before, [from, to]) => before.replaceAll(from, to), text);
    writeFileSync(join(folder, name, path), changed);
  }
  const { app, services } = await buildTestApp(t, { MILLRACE_PLUGINS_DIR: folder });
  const send: ExampleFixture['send'] = async (request, body) => {
    const response = await ask(app, request, body);
    return { status: response.statusCode, json: response.body === '' ? null : response.json() };
  };
  await until(async () => {
    const { json } = await send(`GET /admin/plugins/${name}`);
    return JSON.stringify(json).includes('"state":"active"');
  }, `${name} is enabled`);
  const call = async (fn: string, input: unknown) => {
    const found = services.functions.active.find(`${name}/${fn}`);
    if (found === undefined) throw new Error(`There is no ${fn}`);
    const run = { id: newRunId(), attempt: 1, depth: 0, restricted: false };
    const given = { fn: found, input: JSON.stringify(input), run, caller: null, within: null, mayWrite: true };
    return services.functions.calls.call(given);
  };
  const runs = async (state: string) => {
    const { json } = await send(`GET /admin/runs?plugin=${name}&state=${state}`);
    return Array.isArray(json) ? json : [];
  };
  return { app, services, send, runs, call };
}
