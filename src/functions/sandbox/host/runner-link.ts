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

export interface LinkEvents {
  readonly onMessage: (message: RunnerMessage, body: string) => void;
  /** It has ended, for whatever reason. Called once. */
  readonly onEnd: () => void;
}

export class RunnerLink {
  readonly #child: ChildProcess;
  readonly #pipe: Socket;
  readonly #writer: FrameWriter;
  readonly #statm: string | null;
  readonly #events: LinkEvents;
  #hasEnded = false;

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
    this.#statm = process.platform === 'linux' ? `/proc/${this.#child.pid}/statm` : null;
    const reader = new FrameReader(MAX_FRAME_BYTES, (frame) => this.#take(frame));
    this.#pipe.on('data', (chunk: Buffer) => {
      try {
        if (!this.#hasEnded) reader.push(chunk);
      } catch {
        this.end();
      }
    });
    this.#pipe.on('error', () => this.end());
    this.#pipe.on('close', () => this.end());
    this.#child.on('error', () => this.end());
    this.#child.on('exit', () => this.end());
    if (process.platform === 'linux') raiseOomScore(this.#child.pid);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(message: ServerMessage, body = ''): void {
    if (!this.#hasEnded) this.#writer.send(message, body);
  }

  /** Bytes of memory that the runner holds; null where the system does not tell. */
  get rss(): number | null {
    if (this.#statm === null || this.#hasEnded) return null;
    try {
      return Number(readFileSync(this.#statm, 'latin1').split(' ')[1]) * PAGE_BYTES;
    } catch {
      return null;
    }
  }

  /** Ends it at once. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#child.kill('SIGKILL');
    this.#pipe.destroy();
    this.#events.onEnd();
  }

  #take({ head, body }: Frame): void {
    const message = readRunnerMessage(head);
    if (message === null) this.end();
    else this.#events.onMessage(message, body);
  }
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
