/** A started runner and the pipe to it. Messages from the pipe are checked; a runner that sends anything invalid is ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAX_OPERATION_BASE64_BYTES } from '../host-schemas.ts';
import type { Bundle, BundleError } from '../sandbox.ts';
import { type Frame, FrameReader, FrameWriter } from '../wire/frames.ts';
import { RUNNER_PIPE_FD, type RunnerMessage, readRunnerMessage, type ServerMessage } from '../wire/messages.ts';
import type { CrashEvidence } from './crash-attribution.ts';
import type { LiveCall } from './live-call.ts';
import type { MemoryGrowth } from './memory-growth-detector.ts';

/** The longest frames of a runner contain a result or an argument. */
const MAX_FRAME_BYTES = MAX_OPERATION_BASE64_BYTES;
/** Bytes of a memory page, the unit of `/proc`. Exact or an underestimate on all platforms that Node supports. */
const PAGE_BYTES = 4_096;
/** The kernel ends the runner before any other process when memory runs out. */
const OOM_SCORE = '1000';

/** How long to wait for the exit status of a runner whose pipe is closed, in milliseconds. */
const EXIT_MS = 1_000;
/** Signals that a process causes itself. All others come from the system or an operator. */
const OWN_SIGNALS: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGABRT',
  'SIGBUS',
  'SIGFPE',
  'SIGILL',
  'SIGSEGV',
  'SIGSYS',
  'SIGTRAP',
]);

/**
 * Why a runner has ended: `server` ended it; it crashed or sent an invalid message (`itself`); or a signal came from outside
 * (`system`), for example from the kernel when memory ran out.
 */
export type RunnerExit =
  | { readonly by: 'server' | 'itself' }
  | { readonly by: 'system'; readonly signal: NodeJS.Signals };

export interface RunnerLinkEvents {
  readonly onMessage: (message: RunnerMessage, body: string) => void;
  /** It has ended. Called once. */
  readonly onEnd: (end: RunnerExit) => void;
}

export class RunnerLink {
  readonly #child: ChildProcess;
  readonly #pipe: Socket;
  readonly #writer: FrameWriter;
  /** Process information from the system; null where unavailable. */
  readonly #proc: string | null;
  readonly #events: RunnerLinkEvents;
  #hasEnded = false;
  /** Runs from the first sign that the runner is gone until its exit status is known. */
  #exiting: NodeJS.Timeout | null = null;

  constructor(jitless: boolean, events: RunnerLinkEvents) {
    this.#events = events;
    const runner = jitless && RUNNER.endsWith('.ts') ? join(stripRunnerTypes(SANDBOX), 'runner', 'main.mjs') : RUNNER;
    this.#child = spawn(process.execPath, [...flags(jitless, dirname(dirname(runner))), runner], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      env: {},
      cwd: dirname(RUNNER),
      windowsHide: true,
    });
    this.#pipe = this.#child.stdio[RUNNER_PIPE_FD] as Socket;
    this.#writer = new FrameWriter((bytes) => this.#pipe.write(bytes));
    this.#proc = process.platform === 'linux' ? `/proc/${this.#child.pid}` : null;
    const reader = new FrameReader(MAX_FRAME_BYTES, (frame) => this.#take(frame));
    this.#pipe.on('data', (chunk: Buffer) => {
      try {
        if (!this.#hasEnded) reader.push(chunk);
      } catch {
        this.endAsInvalid();
      }
    });
    this.#pipe.on('error', () => this.#gone());
    this.#pipe.on('close', () => this.#gone());
    this.#child.on('error', () => this.endAsInvalid());
    this.#child.on('exit', () => this.#gone());
    // Fires after both the exit and the last bytes of the pipe.
    this.#child.on('close', (_code, signal) => this.#finish(endOf(signal)));
    if (process.platform === 'linux') raiseOomScore(this.#child.pid);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it has ended or is about to: it accepts no more calls. */
  get isGone(): boolean {
    return this.#hasEnded || this.#exiting !== null;
  }

  send(message: ServerMessage, body = ''): void {
    if (!this.isGone) this.#writer.send(message, body);
  }

  /** Bytes of memory that the runner holds; null where the system does not report them. */
  get rss(): number | null {
    const pages = this.#read('statm')?.split(' ')[1];
    // A process that is exiting holds no memory.
    return pages === undefined || pages === '0' ? null : Number(pages) * PAGE_BYTES;
  }

  /** Whether a signal or a debugger stops it, so that no code in it can continue. */
  get isStopped(): boolean {
    return /\) [Tt] /.test(this.#read('stat') ?? '');
  }

  #read(name: string): string | null {
    if (this.#proc === null || this.#hasEnded) return null;
    try {
      return readFileSync(`${this.#proc}/${name}`, 'latin1');
    } catch {
      return null;
    }
  }

  /** Kills it. */
  end(): void {
    this.#finish({ by: 'server' });
  }

  /** Kills it because it violated the protocol. */
  endAsInvalid(): void {
    this.#finish({ by: 'itself' });
  }

  /** It has ended or closed its pipe; its exit status is not known yet. */
  #gone(): void {
    if (this.#hasEnded) return;
    this.#exiting ??= setTimeout(() => this.#finish(endOf(this.#child.signalCode)), EXIT_MS);
  }

  #finish(end: RunnerExit): void {
    if (this.#exiting !== null) clearTimeout(this.#exiting);
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#child.kill('SIGKILL');
    this.#pipe.destroy();
    this.#events.onEnd(end);
  }

  #take({ head, body }: Frame): void {
    const message = readRunnerMessage(head);
    if (message === null) this.endAsInvalid();
    else this.#events.onMessage(message, body);
  }
}

/** @param signal that ended it; null if it has exited, or still runs without its pipe */
function endOf(signal: NodeJS.Signals | null): RunnerExit {
  return signal === null || OWN_SIGNALS.has(signal) ? { by: 'itself' } : { by: 'system', signal };
}

/** The runner in the form of this program: sources in a clone, JavaScript in the package. */
const RUNNER = fileURLToPath(
  new URL(`../runner/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);

const SANDBOX = dirname(dirname(RUNNER));

/** The runner may load its own files and isolated-vm, and has no other permissions. */
function flags(jitless: boolean, own: string): string[] {
  const ivm = createRequire(import.meta.url).resolve('isolated-vm/package.json');
  const loader = createRequire(ivm).resolve('node-gyp-build/package.json');
  const readable = [own, dirname(ivm), dirname(loader)];
  return [
    '--no-node-snapshot',
    '--permission',
    '--allow-addons',
    ...readable.map((folder) => `--allow-fs-read=${folder}/*`),
    `--allow-fs-read=${MUSL_MARK}`,
    ...(jitless ? ['--jitless'] : []),
  ];
}

/** The file by which node-gyp-build recognizes a system without glibc. */
const MUSL_MARK = '/etc/alpine-release';

function raiseOomScore(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch {
    // Some containers forbid this. Then the kernel chooses as usual.
  }
}

/** Maximum characters of all bundles in a runner. */
const MAX_CHARACTERS = 64 * 1_048_576;

/** The bundles that a runner has loaded: each is sent once, and the least recently used are unloaded above a memory limit. */
export class LoadedBundles {
  readonly #send: (message: ServerMessage, body?: string) => void;
  /** Characters by id, the most recently used last. */
  readonly #sizes = new Map<string, number>();
  #held = 0;

  constructor(send: (message: ServerMessage, body?: string) => void) {
    this.#send = send;
  }

  /** Sends a bundle unless the runner has it. */
  ensureLoaded(bundle: Bundle): void {
    const known = this.#sizes.get(bundle.id);
    if (known !== undefined) {
      this.#sizes.delete(bundle.id);
      this.#sizes.set(bundle.id, known);
      return;
    }
    let size = 0;
    for (const [path, text] of bundle.files) size += path.length + text.length;
    for (const [id, held] of this.#sizes) {
      if (this.#held + size <= MAX_CHARACTERS) break;
      this.#sizes.delete(id);
      this.#held -= held;
      this.#send({ type: 'drop', bundle: id });
    }
    this.#sizes.set(bundle.id, size);
    this.#held += size;
    this.#send({ type: 'load', bundle: bundle.id }, JSON.stringify([...bundle.files]));
  }
}

/**
 * Writes the runner's files without types to a folder from which its packages resolve.
 * @param sources the folder of the sandbox
 * @returns the folder of the copy, whose files end with `.mjs`
 */
function stripRunnerTypes(sources: string): string {
  const packages = dirname(dirname(createRequire(import.meta.url).resolve('isolated-vm/package.json')));
  const copy = join(packages, '.cache', 'millrace-runner', String(process.pid));
  for (const path of globSync('{*,wire/*,runner/*,isolate/*}.ts', { cwd: sources })) {
    const text = stripTypeScriptTypes(readFileSync(join(sources, path), 'utf8'));
    const target = join(copy, path.replace(/ts$/, 'mjs'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replace(/(from '\.[^']*)\.ts'/g, "$1.mjs'"));
  }
  return copy;
}

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
