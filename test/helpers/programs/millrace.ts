/**
 * The program as a user starts it, in a child process with a data folder of its own. Its URL is read from its summary,
 * and the test chooses how to end it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { type DataFolderHolder, findDataFolderHolder } from '../../../src/database/embedded/data-dir-lock.ts';
import { type ProcessInfo, waitForProcessExit } from '../../../src/database/embedded/process-info.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const START_MS = 120_000;
const END_MS = 20_000;

export interface ProgramOptions {
  /** The folder of its embedded MongoDB. */
  readonly folder: string;
  /** The command: `scripts/start.mjs` as a user does, or `src/main.ts` if the test needs the program's own pid. */
  readonly entry?: 'scripts/start.mjs' | 'src/main.ts';
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments for node before the entry. */
  readonly nodeWords?: readonly string[];
}

export interface Program {
  /** Its URL, without a slash at the end. */
  readonly url: string;
  readonly child: ChildProcess;
  /** Time from its start to its summary. */
  readonly startMs: number;
  /** Everything that it has printed so far. */
  output(): string;
  /** Its embedded MongoDB and its own process; null when it has no embedded MongoDB, or none any more. */
  holder(): Promise<DataFolderHolder | null>;
  /** Ends it by a signal and waits for its end. Returns its exit code, null after a kill. */
  end(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | null>;
}

/** Starts the program and waits for its summary. At the end of `t`, all its remaining processes are killed. */
export async function startMillrace(t: Pick<Test, 'teardown'>, options: ProgramOptions): Promise<Program> {
  const { folder, entry = 'src/main.ts', env = {}, nodeWords = [] } = options;
  const started = performance.now();
  const child = spawn(process.execPath, [...nodeWords, join(ROOT, entry)], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...withoutSettings(process.env),
      PORT: '0',
      MILLRACE_DATA_DIR: folder,
      MILLRACE_LOG_LEVEL: 'warn',
      MILLRACE_WORKERS: '1',
      ...(entry === 'scripts/start.mjs' && { MILLRACE_START: 'sources' }),
      ...env,
    },
  });
  let output = '';
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`The program ${why}:\n${output}`));
    const timer = setTimeout(() => fail('gave no summary in time'), START_MS);
    const collect = (chunk: string) => {
      output += chunk;
      const found = /^ +URL +(http:\S+)$/m.exec(output);
      if (found?.[1] === undefined) return;
      clearTimeout(timer);
      resolve(found[1]);
    };
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    void ended.then((code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
  });
  const startMs = performance.now() - started;
  const holder = () => findDataFolderHolder(join(folder, 'data'));
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await ended;
    }
    await gone((await holder())?.mongod ?? null);
  });
  return {
    url,
    child,
    startMs: Math.round(startMs),
    output: () => output,
    holder,
    end: async (signal) => {
      child.kill(signal);
      return await ended;
    },
  };
}

/** Waits until a program has ended; false when it still runs after a timeout. */
export async function gone(program: ProcessInfo | null): Promise<boolean> {
  return program === null || (await waitForProcessExit(program, END_MS));
}

/** The environment of the tests, without variables that are settings of the program. */
export function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const settings = /^(?:MILLRACE_|MONGODB_URL$|HOST$|PORT$|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(env).filter(([name]) => !settings.test(name)));
}
