/** Calls of short programs for tests of the sandbox. */
import type { Bundle, CallOutcome, Sandbox, SandboxCall } from '../../../src/functions/sandbox/sandbox.ts';

/** A bundle of files by path; its id identifies exactly this content. */
export function bundleOf(files: Readonly<Record<string, string>>): Bundle {
  return { id: JSON.stringify(files), files: new Map(Object.entries(files)) };
}

/** Options of a call that tests override. */
export interface CallChanges extends Partial<Omit<SandboxCall, 'facts' | 'limits'>> {
  /** `plugin/name` of the function. */
  readonly fn?: string;
  readonly principal?: Readonly<Record<string, unknown>>;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly limits?: Partial<SandboxCall['limits']>;
}

/** A call of the default export of `main.ts`, whose text is `code`. */
export function callOf(
  code: string,
  { fn = 'shop/main', principal, secrets, limits, ...changes }: CallChanges = {},
): SandboxCall {
  return {
    bundle: bundleOf({ 'main.ts': code }),
    file: 'main.ts',
    kind: 'http',
    input: 'null',
    facts: {
      principal: principal ?? { kind: 'user', id: 'ada', roles: [], claims: {} },
      run: { id: 'run_1', key: 'key_1', attempt: 1, function: fn, version: '1' },
      secrets: secrets ?? {},
    },
    limits: { wallMs: 10_000, cpuMs: 2_000, heapMb: 64, ...limits },
    host: async () => 'null',
    onLog: () => undefined,
    ...changes,
  };
}

/** The value that `code` returns, parsed; otherwise the whole outcome. */
export async function resultOf(sandbox: Sandbox, code: string, changes?: CallChanges): Promise<unknown> {
  return parsed(await sandbox.call(callOf(code, changes)));
}

/** The value of an outcome, parsed; the outcome itself if it is another kind. */
export function parsed(outcome: CallOutcome): unknown {
  return outcome.kind === 'value' ? JSON.parse(outcome.value) : outcome;
}
