/** What the routes of plugins, runs and jobs answer, as far as the pages show it (docs/plugins.md). */

export type FunctionKind = 'endpoint' | 'trigger' | 'cron' | 'before' | 'job';

export interface PluginFunction {
  readonly name: string;
  readonly kind: FunctionKind;
  readonly route?: { readonly methods: readonly string[]; readonly path: string };
  readonly on?: readonly string[];
  readonly cron?: string;
  readonly timeZone?: string;
  readonly before?: { readonly collections: readonly string[]; readonly actions: readonly string[] };
  readonly state: 'active' | 'disabled' | 'quarantined' | 'invalid';
  readonly error: string | null;
  readonly runs: { readonly ok: number; readonly failed: number; readonly p95Ms: number | null };
  readonly lastRunAt: string | null;
  readonly nextRunAt: string | null;
}

export interface Plugin {
  readonly name: string;
  readonly from: 'folder' | 'database';
  readonly version: string;
  readonly enabled: boolean;
  readonly faults: readonly string[];
  readonly functions: readonly PluginFunction[];
}

export type Files = Readonly<Record<string, string>>;

export interface WholePlugin extends Plugin {
  readonly manifest: unknown;
  readonly files: Files;
  readonly secrets: readonly { readonly name: string; readonly set: boolean }[];
}

export interface PluginVersion {
  readonly version: number;
  readonly at: string;
  readonly by: string | null;
  readonly note: string | null;
}

export interface WholeVersion extends PluginVersion {
  readonly manifest: unknown;
  readonly files: Files;
}

export const RUN_STATES = ['waiting', 'running', 'ok', 'failed', 'parked', 'refused'] as const;

export interface RunFault {
  readonly code: string;
  readonly message: string;
  readonly stack: string | null;
}

export interface Run {
  readonly id: string;
  readonly plugin: string;
  readonly function: string;
  readonly version: string;
  readonly kind: FunctionKind;
  readonly state: (typeof RUN_STATES)[number];
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly durationMs: number | null;
  readonly attempt: number;
  readonly event: string | null;
  readonly error: RunFault | null;
}

export interface LogLine {
  readonly at: string;
  readonly level: string;
  readonly text: string;
}

export interface RunOperation {
  readonly operation: string;
  readonly target: string;
  readonly durationMs: number;
  readonly error: string | null;
  /** Of a try: what would have been written. */
  readonly written?: unknown;
}

export interface WholeRun extends Run {
  readonly logs: readonly LogLine[];
  readonly operations: readonly RunOperation[];
  readonly input: string | null;
  readonly inputBytes: number;
  readonly result: string | null;
  readonly resultBytes: number;
}

export interface TryAnswer {
  readonly result?: unknown;
  readonly error?: RunFault;
  readonly logs: readonly LogLine[];
  readonly operations: readonly RunOperation[];
  readonly durationMs: number;
}

export interface Job {
  readonly id: string;
  readonly plugin: string;
  readonly function: string;
  readonly state: string;
  readonly scheduledAt: string | null;
  readonly attempt: number;
  readonly nextAttemptAt: string | null;
}

/** What sets a function off, in a few words. */
export function occasionOf({ kind, route, on, cron, timeZone, before }: PluginFunction): string {
  if (route !== undefined) return `${route.methods.join(', ')} ${route.path}`;
  if (on !== undefined) return `after ${on.join(', ')}`;
  if (cron !== undefined) return `at ${cron} (${timeZone})`;
  if (before !== undefined) return `before ${before.actions.join(', ')} in ${before.collections.join(', ')}`;
  return kind === 'job' ? 'when it is scheduled' : kind;
}
