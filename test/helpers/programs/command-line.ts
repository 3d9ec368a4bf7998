/** A command of the program in a process of its own, whose output is followed. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { until } from '../until.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

export interface RunningCommand {
  /** Everything that it printed, errors too. */
  output(): string;
  /** Waits until its output matches. */
  prints(what: RegExp): Promise<RegExpExecArray>;
  /**
   * Sends a signal, if given, and waits for its end.
   * @returns its exit code, null after a kill
   */
  ended(signal?: 'SIGINT' | 'SIGKILL'): Promise<number | null>;
}

/**
 * Starts `millrace` with these arguments. It is killed when the test ends.
 * @param cwd the folder in which it runs
 */
export function runCommandLine(t: Pick<Test, 'teardown'>, words: readonly string[], cwd?: string): RunningCommand {
  const child = spawn(process.execPath, [MAIN, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
    ...(cwd !== undefined && { cwd }),
  });
  let output = '';
  let over = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const end = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(() => {
    over = true;
  });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await end;
  });
  return {
    output: () => output,
    prints: async (what) => {
      await until(() => what.test(output) || over, `it prints ${what}`).catch((error) => {
        throw new Error(`${error.message}\n${output}`);
      });
      const found = what.exec(output);
      if (found === null) throw new Error(`It ended without ${what}:\n${output}`);
      return found;
    },
    ended: (signal) => {
      if (signal !== undefined) child.kill(signal);
      return end;
    },
  };
}
