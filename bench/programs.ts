/** Servers that a benchmark starts: Millrace or a reference, each in a process of its own that prints its URL. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Program {
  /** `http://127.0.0.1:port` */
  readonly base: string;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Starts Millrace on a database of a running MongoDB, in development mode unless the settings say otherwise.
 * @param root the folder of the repository whose program is started
 */
export function startOurs(
  mongodb: string,
  database: string,
  settings: Record<string, string> = {},
  root = ROOT,
): Promise<Program> {
  return startProgram([join(root, 'src/main.ts')], {
    MONGODB_URL: mongodb,
    MILLRACE_DB: database,
    PORT: '0',
    MILLRACE_LOG_LEVEL: 'warn',
    ...settings,
  });
}

/** Starts the bare handler on a database of a running MongoDB. */
export function startBare(mongodb: string, database: string): Promise<Program> {
  return startProgram([fileURLToPath(new URL('./bare.ts', import.meta.url)), mongodb, database], {});
}

/** Starts a server that receives webhooks. */
export function startWebhookReceiver(): Promise<Program> {
  return startProgram([fileURLToPath(new URL('./webhook-receiver.ts', import.meta.url))], {});
}

/**
 * Starts a program with this Node and waits until it prints its URL.
 * @param words the script and its arguments
 * @param env settings that are added to those of this process
 */
async function startProgram(words: readonly string[], env: Record<string, string>): Promise<Program> {
  const child = spawn(process.execPath, words, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const base = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`${words[0]} ended with ${code}`)));
    const onText = (text: Buffer) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(String(text))?.[0];
      if (found === undefined) return;
      resolve(found);
      // From here on its log is read and discarded.
      child.stdout.off('data', onText).resume();
    };
    child.stdout.on('data', onText);
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
