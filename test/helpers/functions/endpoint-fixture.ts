/**
 * A server whose plugins are built by hand and whose calls are handled by the test itself, for tests of everything
 * around a call. Code in the sandbox is tested elsewhere.
 */
import '../../../src/fastify-types.ts';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import { loadConfig } from '../../../src/config/config.ts';
import type { CallReport, FunctionCall, FunctionInvoker } from '../../../src/functions/calling/call-types.ts';
import type { CallConcurrencyLimiter } from '../../../src/functions/endpoints/endpoint-calls.ts';
import { EndpointCalls } from '../../../src/functions/endpoints/endpoint-calls.ts';
import { endpointOperations } from '../../../src/functions/endpoints/endpoint-openapi.ts';
import { FunctionReruns } from '../../../src/functions/function-reruns.ts';
import { PluginRegistry } from '../../../src/functions/plugins/active-plugins.ts';
import { toRun } from '../../../src/functions/runs/run-row.ts';
import type { CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { createServices } from '../../../src/services.ts';
import { testMongo } from '../mongo.ts';
import { speakingAs } from '../principals.ts';
import { runRow } from './run-rows.ts';

/** The outcome of a call, or all of its report. */
export type Responding = (call: FunctionCall) => Promise<CallOutcome | CallReport>;

export const value = (json: unknown): CallOutcome => ({ kind: 'value', value: JSON.stringify(json), cpuMs: 1 });

export const response = (
  status: number,
  headers: Record<string, string> = {},
  body: string | null = null,
): CallOutcome => ({
  kind: 'response',
  response: { status, headers, body },
  cpuMs: 1,
});

export const reportOf = (outcome: CallOutcome, fields: Partial<CallReport> = {}): CallReport => ({
  outcome,
  startedAt: new Date(),
  durationMs: 1,
  logs: [],
  operations: [],
  ...fields,
});

export async function endpointFixture(t: Test, settings: Record<string, string> = {}, slots?: CallConcurrencyLimiter) {
  const { url, database } = await testMongo(t);
  const config = loadConfig({ MILLRACE_DB: database, PORT: '0', ...settings });
  const created = await createServices(config, url);
  const registry = new PluginRegistry((error) => t.fail(String(error)));
  const calls: FunctionCall[] = [];
  let responding: Responding = async () => value(null);
  const calling: FunctionInvoker = {
    call: async (call) => {
      calls.push(call);
      const given = await responding(call);
      return 'outcome' in given ? given : reportOf(given);
    },
  };
  const { recorder, counts, live, store } = created.functions.runs;
  await created.functions.runs.begin();
  const errors: unknown[] = [];
  const endpoints = new EndpointCalls({
    active: registry,
    calling,
    recorder,
    onError: (error) => void errors.push(error),
    ...(slots === undefined ? {} : { slots }),
  });
  const queued: string[] = [];
  const queue = {
    rerun: async (_fn: unknown, earlier: { _id: string }) => {
      queued.push(earlier._id);
      return toRun(runRow(9_000, { _id: 'run_again', state: 'pending' }));
    },
  };
  const repeats = new FunctionReruns({ active: registry, endpoints, queue, replays: created.functions.replays });
  const reported = () => endpointOperations(registry.ofKind('http'));
  const functions = { ...created.functions, active: registry, endpoints, repeats, reported };
  const parts = { ...created, functions };
  const app = await buildApp(parts, pino({ level: 'silent' }));
  t.teardown(async () => {
    await app.close();
    await parts.close();
  });
  await app.ready();
  const headersOf = speakingAs(parts);
  const as = (principal: Principal) => headersOf(principal);
  return {
    app,
    parts,
    registry,
    calls,
    errors,
    queued,
    store,
    counts,
    live,
    as,
    /** The result of calls from now on. */
    response: (next: Responding) => {
      responding = next;
    },
  };
}
