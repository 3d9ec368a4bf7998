/**
 * A runner that was started, and the pipe to it. What comes out of the pipe is checked; a runner that sends anything else is ended. Not
 * here: when one is started, and what the messages mean (isolate-sandbox.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAX_BASE64_RESULT_BYTES } from '../host-shapes.ts';
import { type Frame, FrameReader, FrameWriter } from '../wire/frames.ts';
import { PIPE, type RunnerMessage, readRunnerMessage, type ServerMessage } from '../wire/messages.ts';
import { plainRunner } from './plain-runner.ts';

/** The longest frame of a runner brings a result, or an argument. */
const MAX_FRAME_BYTES = MAX_BASE64_RESULT_BYTES;
/** Bytes of a page of memory: what `/proc` counts in. The same on all machines that Node has builds for, or smaller. */
const PAGE_BYTES = 4_096;
/** The kernel ends the runner before any other program when memory runs out. */
const OOM_SCORE = '1000';

/** Milliseconds for the system to tell how a runner has ended whose pipe is closed. */
const EXIT_MS = 1_000;
/** Signals that a program gets for what it does itself. The system or a person sends all others. */
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
 * Why a runner has ended: `server` ended it; it crashed, or sent what it must not (`itself`); or a signal came from outside (`system`),
 * for example from the kernel when memory ran out.
 */
export type RunnerEnd =
  | { readonly by: 'server' | 'itself' }
  | { readonly by: 'system'; readonly signal: NodeJS.Signals };

export interface LinkEvents {
  readonly onMessage: (message: RunnerMessage, body: string) => void;
  /** It has ended. Called once. */
  readonly onEnd: (end: RunnerEnd) => void;
}

export class RunnerLink {
  readonly #child: ChildProcess;
  readonly #pipe: Socket;
  readonly #writer: FrameWriter;
  /** What the system tells of the process; null where it does not. */
  readonly #proc: string | null;
  readonly #events: LinkEvents;
  #hasEnded = false;
  /** Runs from the first sign that the runner is gone until the system tells how it has ended. */
  #exiting: NodeJS.Timeout | null = null;

  constructor(jitless: boolean, events: LinkEvents) {
    this.#events = events;
    const runner = jitless && RUNNER.endsWith('.ts') ? join(plainRunner(SANDBOX), 'runner', 'main.mjs') : RUNNER;
    this.#child = spawn(process.execPath, [...flags(jitless, dirname(dirname(runner))), runner], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      env: {},
      cwd: dirname(RUNNER),
      windowsHide: true,
    });
    this.#pipe = this.#child.stdio[PIPE] as Socket;
    this.#writer = new FrameWriter((bytes) => this.#pipe.write(bytes));
    this.#proc = process.platform === 'linux' ? `/proc/${this.#child.pid}` : null;
    const reader = new FrameReader(MAX_FRAME_BYTES, (frame) => this.#take(frame));
    this.#pipe.on('data', (chunk: Buffer) => {
      try {
        if (!this.#hasEnded) reader.push(chunk);
      } catch {
        this.distrust();
      }
    });
    this.#pipe.on('error', () => this.#gone());
    this.#pipe.on('close', () => this.#gone());
    this.#child.on('error', () => this.distrust());
    this.#child.on('exit', () => this.#gone());
    // Comes after both the exit and the last bytes of the pipe.
    this.#child.on('close', (_code, signal) => this.#finish(endOf(signal)));
    if (process.platform === 'linux') raiseOomScore(this.#child.pid);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it is gone, or about to be: it takes no more calls. */
  get isGone(): boolean {
    return this.#hasEnded || this.#exiting !== null;
  }

  send(message: ServerMessage, body = ''): void {
    if (!this.isGone) this.#writer.send(message, body);
  }

  /** Bytes of memory that the runner holds; null where the system does not tell. */
  get rss(): number | null {
    const pages = this.#read('statm')?.split(' ')[1];
    // A process that is ending holds nothing any more.
    return pages === undefined || pages === '0' ? null : Number(pages) * PAGE_BYTES;
  }

  /** Whether a signal or a debugger holds it, so that no code in it can go on. */
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

  /** Ends it at once. */
  end(): void {
    this.#finish({ by: 'server' });
  }

  /** Ends it at once, because it did what it must not do. */
  distrust(): void {
    this.#finish({ by: 'itself' });
  }

  /** It is gone, or has closed its pipe; how it has ended is not known yet. */
  #gone(): void {
    if (this.#hasEnded) return;
    this.#exiting ??= setTimeout(() => this.#finish(endOf(this.#child.signalCode)), EXIT_MS);
  }

  #finish(end: RunnerEnd): void {
    if (this.#exiting !== null) clearTimeout(this.#exiting);
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#child.kill('SIGKILL');
    this.#pipe.destroy();
    this.#events.onEnd(end);
  }

  #take({ head, body }: Frame): void {
    const message = readRunnerMessage(head);
    if (message === null) this.distrust();
    else this.#events.onMessage(message, body);
  }
}

/** @param signal that ended it; null when it has exited, or still runs without its pipe */
function endOf(signal: NodeJS.Signals | null): RunnerEnd {
  return signal === null || OWN_SIGNALS.has(signal) ? { by: 'itself' } : { by: 'system', signal };
}

/** The runner as this program is: sources in a clone, JavaScript in the package. */
const RUNNER = fileURLToPath(
  new URL(`../runner/main${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
);

const SANDBOX = dirname(dirname(RUNNER));

/** The runner may load its own files and isolated-vm, and do nothing else to the system. */
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

/** The file by which node-gyp-build knows a system without glibc. */
const MUSL_MARK = '/etc/alpine-release';

function raiseOomScore(pid: number | undefined): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, OOM_SCORE);
  } catch {
    // Some containers forbid it. Then the kernel chooses as it always does.
  }
}
