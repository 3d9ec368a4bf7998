/** Servers that a benchmark starts beside itself: ours or a reference, each a process of its own that says its address. */
import { type ChildProcess, spawn } from 'node:child_process';

export interface Program {
  /** `http://127.0.0.1:port` */
  readonly base: string;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

/**
 * Starts a program with this Node and waits until it says where it listens.
 * @param words the script and its arguments
 * @param env settings over those of this process
 */
export async function startProgram(words: readonly string[], env: Record<string, string>): Promise<Program> {
  const child = spawn(process.execPath, words, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const base = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${words[0]} ended with ${code}`)));
    child.stdout.on('data', (text: Buffer) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(String(text))?.[0];
      if (found !== undefined) resolve(found);
    });
  });
  return {
    base,
    child,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
