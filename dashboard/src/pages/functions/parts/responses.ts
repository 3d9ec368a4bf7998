/** Responses of the routes of plugins, runs and jobs, as far as the pages show them (docs/plugins.md). */

export type FunctionKind = 'http' | 'trigger' | 'cron' | 'beforeWrite' | 'job';

export interface PluginFunction {
  readonly name: string;
  readonly kind: FunctionKind;
  readonly route?: { readonly methods: readonly string[]; readonly path: string };
  readonly on?: readonly string[];
  readonly cron?: string;
  readonly timeZone?: string;
  readonly beforeWrite?: { readonly collections: readonly string[]; readonly actions: readonly string[] };
  readonly state: 'active' | 'disabled' | 'quarantined' | 'invalid';
  readonly error: string | null;
  readonly runs: { readonly succeeded: number; readonly failed: number; readonly p95Ms: number | null };
  readonly lastRunAt: string | null;
  readonly nextRunAt: string | null;
}

export interface Plugin {
  readonly name: string;
  readonly source: 'folder' | 'database';
  readonly version: string;
  readonly enabled: boolean;
  /** Whether calls of the active version share contexts or have one each; null if none is active. */
  readonly isolation: 'plugin' | 'call' | null;
  readonly diagnostics: readonly string[];
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
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly note: string | null;
}

export interface WholeVersion extends PluginVersion {
  readonly manifest: unknown;
  readonly files: Files;
}

export const RUN_STATES = ['pending', 'running', 'succeeded', 'failed', 'canceled', 'skipped', 'rejected'] as const;

export interface RunError {
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
  readonly attempts: number;
  readonly event: string | null;
  readonly error: RunError | null;
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
  /** Of a dry run: what would have been written. */
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

export interface TryResponse {
  readonly result?: unknown;
  readonly error?: RunError;
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
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
}

/** What triggers a function, in a few words. */
export function occasionOf({ kind, route, on, cron, timeZone, beforeWrite }: PluginFunction): string {
  if (route !== undefined) return `${route.methods.join(', ')} ${route.path}`;
  if (on !== undefined) return `after ${on.join(', ')}`;
  if (cron !== undefined) return `at ${cron} (${timeZone})`;
  if (beforeWrite !== undefined)
    return `before ${beforeWrite.actions.join(', ')} in ${beforeWrite.collections.join(', ')}`;
  return kind === 'job' ? 'ctx.schedule' : kind;
}
