/** The package of n8n nodes in integrations/n8n, built once per process. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const FOLDER = fileURLToPath(new URL('../../../integrations/n8n', import.meta.url));

/** Loads a module as the package does. The packages of n8n are installed there only, so they have no types here. */
export const requireThere = createRequire(join(FOLDER, 'package.json'));

const run = promisify(execFile);
let building: Promise<void> | undefined;

/**
 * Builds it from scratch, as `npm run build` does.
 * @throws with the compiler's output
 */
export function built(): Promise<void> {
  building ??= build();
  return building;
}

async function build(): Promise<void> {
  rmSync(join(FOLDER, 'dist'), { recursive: true, force: true });
  await inPackage('node_modules/typescript/bin/tsc');
  await inPackage('copy-assets.mjs');
}

/**
 * Runs a script of the package and returns its output.
 * @throws with that when it fails
 */
export async function inPackage(script: string, ...words: string[]): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [script, ...words], { cwd: FOLDER });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${script} failed: ${stdout}${stderr}`, { cause: error });
  }
}
