/**
 * A server whose plugins are made by hand and whose calls are answered by the test itself: for everything around a call. Not
 * here: code in the sandbox.
 */
import '../../../src/fastify.ts';
import pino from 'pino';
import type { Test } from 'tap';
import { buildApp } from '../../../src/app.ts';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import type { Calling, CallReport, FunctionCall } from '../../../src/functions/calling/calling.ts';
import type { CallSlots } from '../../../src/functions/kinds/endpoints/call-slots.ts';
import { EndpointCalls } from '../../../src/functions/kinds/endpoints/endpoint-calls.ts';
import { endpointOperations } from '../../../src/functions/kinds/endpoints/endpoint-contract.ts';
import { PluginBook } from '../../../src/functions/plugins/plugin-book.ts';
import { RunRepeats } from '../../../src/functions/run-repeats.ts';
import { toRun } from '../../../src/functions/runs/run-row.ts';
import type { CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { makeParts } from '../../../src/parts.ts';
import { testMongo } from '../mongo.ts';
import { speakingAs } from '../principals.ts';
import { runRow } from './run-rows.ts';

/** The outcome of a call, or all of its report. */
export type Answering = (call: FunctionCall) => Promise<CallOutcome | CallReport>;

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

export const reportOf = (outcome: CallOutcome, members: Partial<CallReport> = {}): CallReport => ({
  outcome,
  startedAt: new Date(),
  durationMs: 1,
  logs: [],
  operations: [],
  ...members,
});

export async function endpointWorld(t: Test, settings: Record<string, string> = {}, slots?: CallSlots) {
  const { url, database } = await testMongo(t);
  const config = loadConfig({ MILLRACE_DB: database, PORT: '0', ...settings });
  const made = await makeParts(config, url);
  const book = new PluginBook((error) => t.fail(String(error)));
  const calls: FunctionCall[] = [];
  let answering: Answering = async () => value(null);
  const calling: Calling = {
    call: async (call) => {
      calls.push(call);
      const given = await answering(call);
      return 'outcome' in given ? given : reportOf(given);
    },
  };
  const { recorder, counts, live, store } = made.functions.runs;
  await made.functions.runs.begin();
  const errors: unknown[] = [];
  const endpoints = new EndpointCalls({
    active: book,
    calling,
    recorder,
    onError: (error) => void errors.push(error),
    ...(slots === undefined ? {} : { slots }),
  });
  const queued: string[] = [];
  const queue = {
    repeat: async (_fn: unknown, earlier: { _id: string }) => {
      queued.push(earlier._id);
      return toRun(runRow(9_000, { _id: 'run_again', state: 'waiting' }));
    },
  };
  const repeats = new RunRepeats({ active: book, endpoints, queue, replays: made.functions.queue.replays });
  const told = () => endpointOperations(book.ofKind('endpoint'));
  const functions = { ...made.functions, active: book, endpoints, repeats, told };
  const parts = { ...made, functions };
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
    book,
    calls,
    errors,
    queued,
    store,
    counts,
    live,
    as,
    /** What calls are answered with from now on. */
    answer: (next: Answering) => {
      answering = next;
    },
  };
}
