/** The program as its users run it, in a process of its own, so that it can be measured and killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const START_MS = 90_000;

export interface Program {
  /** Its URL, such as `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly pid: number;
  /** Resident memory, in bytes. */
  rss(): number;
  /** Kills it without a chance to clean up, and waits until it has ended. */
  kill(): Promise<void>;
}

/**
 * Starts the program and waits until it listens; it is killed when the test ends.
 * @param settings environment variables, added to those of the test
 */
export async function startProgram(t: Pick<Test, 'teardown'>, settings: Record<string, string>): Promise<Program> {
  const child = spawn(process.execPath, [MAIN], {
    env: { ...process.env, PORT: '0', MILLRACE_LOG_LEVEL: 'error', NODE_OPTIONS: '', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const kill = async () => {
    child.kill('SIGKILL');
    await gone;
  };
  t.teardown(kill);
  const url = await listening(child);
  const { pid = 0 } = child;
  return { url, pid, kill, rss: () => rssOf(pid) };
}

function listening(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(() => reject(new Error(`It did not start:\n${output}`)), START_MS);
    const read = (text: Buffer) => {
      output += text;
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`It ended with ${code}:\n${output}`)));
  });
}

/** Read from /proc; 0 on a system without it. */
function rssOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}
