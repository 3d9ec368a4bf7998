/** The server's state of a runner. Types only. */
import type { BundleError } from '../sandbox.ts';
import type { CrashEvidence } from './crash-attribution.ts';
import type { LiveCall } from './live-call.ts';
import type { LoadedBundles } from './loaded-bundles.ts';
import type { MemoryGrowth } from './memory-growth.ts';
import type { RunnerLink } from './runner-link.ts';

/** The result of a check; `failed` when it crashed or timed out, `interrupted` when something else ended the runner. */
export type BundleCheckResult = readonly BundleError[] | 'failed' | 'interrupted';

/** A runner and its running calls and checks. */
export interface RunnerState extends CrashEvidence {
  readonly link: RunnerLink;
  readonly ready: Promise<boolean>;
  readonly loaded: LoadedBundles;
  readonly calls: Map<string, LiveCall>;
  readonly checks: Map<string, (result: BundleCheckResult) => void>;
  readonly growth: MemoryGrowth;
  busy: readonly string[];
  offender: CrashEvidence['offender'];
  withinLimitAt: number;
}
