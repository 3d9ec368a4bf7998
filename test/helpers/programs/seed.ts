/** Runs the seeding program as a child process and collects its output. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SEED = fileURLToPath(new URL('../../../scripts/seed.ts', import.meta.url));

export interface Seeded {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export async function runSeed(words: readonly string[]): Promise<Seeded> {
  const child = spawn(process.execPath, [SEED, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output, errors };
}
