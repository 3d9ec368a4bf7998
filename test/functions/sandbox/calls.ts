/** Calls of short programs for tests of the sandbox. */
import type { PluginIsolation } from '../../../src/functions/plugins/manifest/manifest.ts';
import type { Bundle, CallOutcome, Sandbox, SandboxCall } from '../../../src/functions/sandbox/sandbox.ts';

/** Whether calls share contexts, or have one each: what separates plugins is the same in both. */
export const ISOLATIONS: readonly PluginIsolation[] = ['plugin', 'call'];

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
  /** Of the plugin; as by default in a manifest without it. */
  readonly isolation?: PluginIsolation;
}

/** A call of the default export of `main.ts`, whose text is `code`. */
export function callOf(
  code: string,
  { fn = 'shop/main', principal, secrets, limits, isolation = 'plugin', ...changes }: CallChanges = {},
): SandboxCall {
  return {
    bundle: bundleOf({ 'main.ts': code }),
    // The server groups calls by plugin and secrets, too.
    group: isolation === 'call' ? null : JSON.stringify([fn.split('/')[0], secrets]),
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
