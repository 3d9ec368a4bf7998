/**
 * The sandbox whose code runs in isolates of a separate process, the runner. This side starts the runner on demand, watches and
 * ends it, and serves host operations.
 */
import { randomBytes } from 'node:crypto';
import type {
  Bundle,
  BundleError,
  CallErrorCode,
  CallOutcome,
  Sandbox,
  SandboxCall,
  SandboxEvents,
} from '../sandbox.ts';
import type { RunnerMessage } from '../wire/messages.ts';
import { CRASH_ERRORS, findCrashingCall } from './crash-attribution.ts';
import { LiveCall } from './live-call.ts';
import { MemoryGrowth } from './memory-growth-detector.ts';
import { RestartBackoff } from './restarts.ts';
import { type BundleCheckResult, LoadedBundles, type RunnerExit, RunnerLink, type RunnerState } from './runner-link.ts';
import { SandboxLimiter } from './sandbox-concurrency-limiter.ts';

export interface IsolateSandboxOptions {
  /** Disables the JIT compiler: slower, but removes one class of attacks. */
  readonly jitless?: boolean;
  /** Maximum memory of the runner in megabytes. */
  readonly rssMb?: number;
  /** Idle time after which the runner ends, in milliseconds. */
  readonly idleMs?: number;
  /** First pause before a runner that ended often is restarted, in milliseconds; doubled each time. */
  readonly backOffMs?: number;
}

const RSS_MB = 768;
const IDLE_MS = 600_000;
const BACK_OFF_MS = 200;
/** Interval between checks of memory and call times, in milliseconds. */
const WATCH_MS = 20;
/** A check later than this means that the server itself was suspended and could not receive results. */
const STALL_MS = 100;
const OFFENCES: ReadonlySet<CallErrorCode> = new Set(['function-timeout', 'function-out-of-memory']);
/** Timeout for a runner to start, and for a check, in milliseconds. */
const START_MS = 10_000;
const CHECK_MS = 5_000;
/** Attempts of a check that a kill or another call may interrupt. */
const CHECK_ATTEMPTS = 3;

export class IsolateSandbox implements Sandbox {
  readonly #events: SandboxEvents;
  readonly #options: Required<IsolateSandboxOptions>;
  readonly #limiter = new SandboxLimiter();
  readonly #restarts: RestartBackoff;
  #starting: Promise<RunnerState | null> | null = null;
  #running: RunnerState | null = null;
  #watch: NodeJS.Timeout | null = null;
  #lookedAt = 0;
  #idle: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(events: SandboxEvents, options: IsolateSandboxOptions = {}) {
    this.#events = events;
    const { jitless = false, rssMb = RSS_MB, idleMs = IDLE_MS, backOffMs = BACK_OFF_MS } = options;
    this.#options = { jitless, rssMb, idleMs, backOffMs };
    this.#restarts = new RestartBackoff(backOffMs);
  }

  /** The process id of the runner; null if none runs. */
  get pid(): number | null {
    return this.#running?.link.pid ?? null;
  }

  /** @throws MillraceError `overloaded` when too many calls wait; never rejects because of the code */
  call(call: SandboxCall): Promise<CallOutcome> {
    return this.#limiter.run(call, () => this.#callNow(call));
  }

  async #callNow(call: SandboxCall): Promise<CallOutcome> {
    const running = await this.#runner();
    if (running === null) return RESTARTED;
    const live = new LiveCall(call);
    running.calls.set(live.capability, live);
    this.#awake();
    running.loaded.ensureLoaded(call.bundle);
    const { bundle, group, file, kind, facts, limits } = call;
    running.link.send(
      { type: 'call', call: live.capability, bundle: bundle.id, group, file, kind, facts, limits },
      call.input,
    );
    const outcome = await live.outcome;
    running.calls.delete(live.capability);
    this.#rest();
    return outcome;
  }

  check(bundle: Bundle, entries: readonly string[]): Promise<readonly BundleError[]> {
    return this.#limiter.check(async () => {
      for (let attempts = 0; attempts < CHECK_ATTEMPTS && !this.#isStopped; attempts += 1) {
        const result = await this.#checkOnce(bundle, entries);
        if (typeof result !== 'string') return result;
        if (result === 'failed') break;
      }
      return [{ file: entries[0] ?? '', line: null, column: null, message: 'The bundle could not be compiled' }];
    });
  }

  async #checkOnce(bundle: Bundle, entries: readonly string[]): Promise<BundleCheckResult> {
    const running = await this.#runner();
    if (running === null) return 'interrupted';
    const check = randomBytes(16).toString('base64url');
    const { promise, resolve } = Promise.withResolvers<BundleCheckResult>();
    running.checks.set(check, resolve);
    this.#awake();
    running.loaded.ensureLoaded(bundle);
    running.link.send({ type: 'check', check, bundle: bundle.id, entries });
    const timer = setTimeout(() => {
      resolve('failed');
      this.#giveUp(running);
    }, CHECK_MS);
    const result = await promise;
    clearTimeout(timer);
    running.checks.delete(check);
    this.#rest();
    return result;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    const running = (await this.#starting) ?? this.#running;
    running?.link.end();
    this.#sleep();
  }

  /** The runner, started if there is none; null if it cannot be started. */
  async #runner(): Promise<RunnerState | null> {
    if (this.#isStopped) return null;
    if (this.#running !== null && !this.#running.link.isGone) return this.#running;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #start(): Promise<RunnerState | null> {
    await this.#restarts.wait();
    if (this.#isStopped) return null;
    const ready = Promise.withResolvers<boolean>();
    const running: RunnerState = {
      link: new RunnerLink(this.#options.jitless, {
        onMessage: (message, body) => {
          if (message.type === 'ready') ready.resolve(true);
          else this.#take(running, message, body);
        },
        onEnd: (end) => {
          ready.resolve(false);
          this.#ended(running, end);
        },
      }),
      ready: ready.promise,
      loaded: new LoadedBundles((message, body) => running.link.send(message, body)),
      calls: new Map(),
      checks: new Map(),
      growth: new MemoryGrowth(),
      busy: [],
      offender: null,
      withinLimitAt: 0,
    };
    const timer = setTimeout(() => this.#giveUp(running), START_MS);
    const isReady = await running.ready;
    clearTimeout(timer);
    if (!isReady) return null;
    if (this.#isStopped) {
      running.link.end();
      return null;
    }
    this.#running = running;
    return running;
  }

  #take(running: RunnerState, message: RunnerMessage, body: string): void {
    if (message.type === 'busy') running.busy = message.calls;
    else if (message.type === 'checked') running.checks.get(message.check)?.(message.issues);
    else if (message.type !== 'ready') {
      const live = running.calls.get(message.call);
      // A frame of an ended call may have been in transit.
      if (live === undefined || live.isOver) return;
      if (message.type === 'log') live.log(message.level, body);
      else if (message.type === 'host') this.#request(running, live, message, body);
      else if (message.type === 'wedged') this.#crash(running, live, message.why);
      else {
        const { outcome } = message;
        if (outcome.kind === 'error' && OFFENCES.has(outcome.code)) running.offender = { live, at: performance.now() };
        if (!live.end(outcome, body, message.cpuMs)) running.link.endAsInvalid();
      }
    }
  }

  async #request(
    { link }: RunnerState,
    live: LiveCall,
    { number, operation }: Extract<RunnerMessage, { type: 'host' }>,
    argument: string,
  ): Promise<void> {
    const response = await this.#limiter.operation(live.call, () => live.request(operation, argument));
    if (!live.isOver) link.send({ type: 'answer', call: live.capability, number, ok: response.ok }, response.text);
  }

  /** Checks the times of all calls and the memory of the runner. */
  #look(): void {
    const running = this.#running;
    if (running === null || running.link.isGone) return;
    const now = performance.now();
    const stalled = now - this.#lookedAt - WATCH_MS;
    this.#lookedAt = now;
    if (stalled > STALL_MS) for (const live of running.calls.values()) live.deadline += stalled;
    const late = [...running.calls.values()].filter((live) => live.deadline < now && !live.isOver);
    const bytes = running.link.rss;
    if (bytes !== null) running.growth.note(bytes, running.calls.values());
    if (late.length > 0) {
      const busy = late.find((live) => running.busy.includes(live.capability));
      this.#crash(running, running.link.isStopped ? null : (busy ?? late[0] ?? null), 'time');
    } else if ((bytes ?? 0) > this.#options.rssMb * 1_048_576) {
      this.#crash(running, findCrashingCall(running, 'memory'), 'memory');
    } else if (!running.growth.isExcessive) running.withinLimitAt = now;
  }

  /** Ends the runner because of a call that cannot be stopped otherwise. */
  #crash(running: RunnerState, guilty: LiveCall | null, why: keyof typeof CRASH_ERRORS): void {
    const { code, message, reason } = CRASH_ERRORS[why];
    guilty?.fail(code, message);
    if (guilty === null) this.#restarts.ended();
    else this.#events.onCrash(guilty.call, reason);
    running.link.end();
  }

  /** Ends the runner for a reason unrelated to calls. */
  #giveUp(running: RunnerState): void {
    this.#restarts.ended();
    running.link.end();
  }

  /** Handles the end of a runner: by itself, from outside, or by this class, which has then handled the reason. */
  #ended(running: RunnerState, end: RunnerExit): void {
    if (this.#running === running) this.#running = null;
    if (end.by !== 'server' && !this.#isStopped) this.#blame(running, end);
    for (const live of running.calls.values()) {
      if (!live.isOver) live.fail('function-runtime-restarted', RESTARTED_MESSAGE);
    }
    for (const resolve of running.checks.values()) resolve(end.by === 'itself' ? 'failed' : 'interrupted');
  }

  /** External signals are not attributed to a function, unless one exceeded its memory. */
  #blame(running: RunnerState, end: Exclude<RunnerExit, { by: 'server' }>): void {
    const isSystem = end.by === 'system';
    const guilty =
      isSystem && !running.growth.isExcessive ? null : findCrashingCall(running, isSystem ? 'memory' : 'end');
    if (isSystem) this.#events.onKilled?.(end.signal);
    this.#crash(running, guilty, isSystem ? 'memory' : 'end');
  }

  #awake(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    if (this.#watch !== null) return;
    this.#lookedAt = performance.now();
    this.#watch = setInterval(() => this.#look(), WATCH_MS);
  }

  /** Without calls nothing is watched, and the runner ends after its idle time. */
  #rest(): void {
    const running = this.#running;
    if (running !== null && running.calls.size + running.checks.size > 0) return;
    this.#sleep();
    if (running === null) return;
    this.#idle = setTimeout(() => running.link.end(), this.#options.idleMs);
    this.#idle.unref();
  }

  #sleep(): void {
    if (this.#watch !== null) clearInterval(this.#watch);
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#watch = null;
    this.#idle = null;
  }
}

const RESTARTED_MESSAGE = 'The process that runs functions was restarted';
const RESTARTED: CallOutcome = {
  kind: 'error',
  code: 'function-runtime-restarted',
  message: RESTARTED_MESSAGE,
  stack: null,
  cpuMs: 0,
};
