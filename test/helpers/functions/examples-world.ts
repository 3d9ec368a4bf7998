/** The examples of plugins on the real program: loaded from their folder, run in the real sandbox. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import type { CallReport } from '../../../src/functions/calling/calling.ts';
import { newRunId } from '../../../src/functions/runs/run-row.ts';
import type { Parts } from '../../../src/parts.ts';
import { ask } from '../accounts.ts';
import { buildTestApp } from '../app.ts';
import { until } from '../until.ts';

const EXAMPLES = fileURLToPath(new URL('../../../plugins/examples', import.meta.url));

export interface ExampleWorld {
  readonly app: FastifyInstance;
  readonly parts: Parts;
  /** Sends a request and tells the status and the JSON of its answer. */
  send(request: Parameters<typeof ask>[1], body?: object): Promise<{ readonly status: number; readonly json: unknown }>;
  /** Calls a function as the server itself does at its time. */
  call(fn: string, input: unknown): Promise<CallReport>;
  /** The runs of the plugin in a state, the newest first. */
  runs(state: string): Promise<readonly unknown[]>;
}

/**
 * A server that has one example in a folder of its own; its functions are in force.
 * @param replaced texts in its manifest and scripts that stand for something else here
 */
export async function exampleWorld(
  t: Test,
  name: string,
  replaced: Readonly<Record<string, string>> = {},
): Promise<ExampleWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-example-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(EXAMPLES, name), join(folder, name), { recursive: true });
  for (const path of readdirSync(join(folder, name), { recursive: true }).map(String)) {
    if (!/\.(ts|json)$/.test(path)) continue;
    const text = readFileSync(join(folder, name, path), 'utf8');
    const changed = Object.entries(replaced).reduce((before, [from, to]) => before.replaceAll(from, to), text);
    writeFileSync(join(folder, name, path), changed);
  }
  const { app, parts } = await buildTestApp(t, { MILLRACE_PLUGINS: folder });
  const send: ExampleWorld['send'] = async (request, body) => {
    const answer = await ask(app, request, body);
    return { status: answer.statusCode, json: answer.body === '' ? null : answer.json() };
  };
  await until(async () => {
    const { json } = await send(`GET /admin/plugins/${name}`);
    return JSON.stringify(json).includes('"state":"active"');
  }, `${name} is in force`);
  const call = async (fn: string, input: unknown) => {
    const found = parts.functions.active.find(`${name}/${fn}`);
    if (found === undefined) throw new Error(`There is no ${fn}`);
    const run = { id: newRunId(), attempt: 1, depth: 0, restricted: false };
    const given = { fn: found, input: JSON.stringify(input), run, caller: null, within: null, mayWrite: true };
    return parts.functions.calls.call(given);
  };
  const runs = async (state: string) => {
    const { json } = await send(`GET /admin/runs?plugin=${name}&state=${state}`);
    return Array.isArray(json) ? json : [];
  };
  return { app, parts, send, runs, call };
}
