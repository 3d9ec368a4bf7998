/** A runner, and what the server knows of it. Types alone. */
import type { BundleFault } from '../sandbox.ts';
import type { Evidence } from './blame.ts';
import type { LiveCall } from './live-call.ts';
import type { LoadedBundles } from './loaded-bundles.ts';
import type { MemoryGrowth } from './memory-growth.ts';
import type { RunnerLink } from './runner-link.ts';

/** What a check has found; `failed` when it crashed or took too long, `interrupted` when something else ended the runner. */
export type CheckResult = readonly BundleFault[] | 'failed' | 'interrupted';

/** A runner and what is under way in it. */
export interface Running extends Evidence {
  readonly link: RunnerLink;
  readonly ready: Promise<boolean>;
  readonly loaded: LoadedBundles;
  readonly calls: Map<string, LiveCall>;
  readonly checks: Map<string, (result: CheckResult) => void>;
  readonly growth: MemoryGrowth;
  busy: readonly string[];
  offender: Evidence['offender'];
  withinAt: number;
}
