/** Function calls in tests: a server, a plugin whose functions are code of the test, and a helper that calls each. */
import type { Test } from 'tap';
import type { Principal } from '../../../src/auth/identity/principal.ts';
import type { TransactionContext } from '../../../src/collections/open-transaction.ts';
import type { CallReport } from '../../../src/functions/calling/call-types.ts';
import { FunctionRunner } from '../../../src/functions/calling/function-runner.ts';
import type { NewJob } from '../../../src/functions/calling/host/job-scheduler.ts';
import type { Plugin, PluginFunction } from '../../../src/functions/plugins/plugin.ts';
import type { LogLine } from '../../../src/functions/sandbox/sandbox.ts';
import { buildTestApp } from '../app.ts';
import { owner } from '../principals.ts';
import { type Code, DirectSandbox } from './direct-sandbox.ts';
import { endpoint, type FunctionSpec, pluginOf } from './plugins.ts';

export const RUN = { id: 'run_0000000000000000000000', attempt: 1, depth: 1, restricted: false };

interface Requesting {
  readonly as?: Principal | 'function';
  readonly within?: TransactionContext;
  readonly mayWrite?: boolean;
  readonly plugin?: Partial<Plugin>;
  readonly fn?: Partial<PluginFunction>;
  readonly isOff?: boolean;
  readonly restricted?: boolean;
  readonly onLog?: (line: LogLine) => void;
  readonly more?: Readonly<Record<string, FunctionSpec>>;
}

export async function callsFixture(t: Test, settings: Record<string, string> = { MILLRACE_MODE: 'production' }) {
  const { app, services } = await buildTestApp(t, settings);
  const jobs: NewJob[] = [];
  const errors: unknown[] = [];
  const { policies, collections, bulkWrites, atomic, egress } = services;

  /** Calls one function with this code. */
  async function call(code: Code, requesting: Requesting = {}) {
    const {
      as = owner(),
      within,
      mayWrite = true,
      plugin,
      fn,
      more,
      isOff = false,
      restricted = false,
      onLog,
    } = requesting;
    const calls = new FunctionRunner({
      ...{ policies, collections, bulkWrites, atomic, egress, files: services.files, publicUrl: 'https://example.org' },
      sandbox: isOff ? null : new DirectSandbox({ run: code }),
      jobs: { schedule: async (job) => ({ id: `job_${jobs.push(job)}` }) },
      now: () => new Date(),
      onError: (error) => errors.push(error),
    });
    const spec = { use: endpoint('POST /run'), as: as === 'function' ? 'function' : 'caller', ...fn } as const;
    const created = pluginOf('shop', { run: spec, ...more }, {}, plugin);
    const [first] = created.functions;
    if (first === undefined) throw new Error('No function');
    const caller = as === 'function' ? null : as;
    return calls.call({
      fn: first,
      input: 'null',
      run: { ...RUN, restricted },
      caller,
      within: within ?? null,
      mayWrite,
      ...(onLog && { onLog }),
    });
  }

  return { app, parts: services, jobs, errors, call };
}

/** The result of a call; an error is thrown. */
export function returned({ outcome }: CallReport): unknown {
  if (outcome.kind === 'value') return JSON.parse(outcome.value);
  throw new Error(outcome.kind === 'response' ? 'A response' : outcome.message);
}

/** An error as code inside a function catches it. */
export interface Issue {
  readonly code: string;
  readonly status: number;
}

/** The code of the error of an operation, as the code of a function can catch it. */
export function refusal(requested: Promise<unknown>): Promise<string> {
  return requested.then(
    () => 'none',
    ({ code }: Issue) => code,
  );
}
