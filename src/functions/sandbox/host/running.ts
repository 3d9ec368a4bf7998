/** The server's state of a runner. Types only. */
import type { BundleError } from '../sandbox.ts';
import type { Evidence } from './crash-attribution.ts';
import type { LoadedBundles } from './loaded-bundles.ts';
import type { MemoryGrowth } from './memory-growth.ts';
import type { RunnerLink } from './runner-link.ts';
import type { LiveCall } from './server-call.ts';

/** The result of a check; `failed` when it crashed or timed out, `interrupted` when something else ended the runner. */
export type CheckResult = readonly BundleError[] | 'failed' | 'interrupted';

/** A runner and its running calls and checks. */
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
