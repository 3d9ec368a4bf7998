/**
 * `openapi-typescript` and `openapi-fetch`, which make a typed client from a contract: installed from npm at fixed
 * versions, apart from the dependencies. They need the programming interface of TypeScript 5, which the compiler of
 * this project no longer has, and a package can have only one of the two. Not here: the tests themselves
 * (test/http/openapi/typed-client.test.ts).
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PACKAGES = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FOLDER = join(ROOT, 'node_modules/.cache/millrace', PACKAGES.join('-'));
const COMPILER = join(ROOT, 'node_modules/typescript/lib/tsc.js');
const INSTALL_MS = 240_000;

/** Why it cannot run here, or undefined when it can. Installs it the first time. */
export function whyNoTypedClient(): string | undefined {
  if (existsSync(FOLDER)) return undefined;
  mkdirSync(dirname(FOLDER), { recursive: true });
  const fresh = mkdtempSync(`${FOLDER}-`);
  try {
    const words = ['install', '--prefix', fresh, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', [...words, ...PACKAGES], { stdio: 'pipe', timeout: INSTALL_MS });
    renameSync(fresh, FOLDER);
    return undefined;
  } catch {
    return existsSync(FOLDER) ? undefined : `npm could not install ${PACKAGES.join(' ')}`;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** A folder in which programs find `openapi-fetch`. Remove it at the end. */
export function programFolder(): string {
  return mkdtempSync(join(FOLDER, 'program-'));
}

/** Runs a script under Node. @returns what it prints */
export async function run(words: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, words)).stdout;
}

/** Writes the types of a contract. @param address where the contract is */
export async function generateTypes(address: string, file: string): Promise<void> {
  const generator = join(FOLDER, 'node_modules/openapi-typescript/bin/cli.js');
  await run([generator, address, '-o', file]);
}

/** Compiles the project of a folder with this project's compiler. @returns its messages; empty when all is well */
export async function compile(folder: string): Promise<string> {
  try {
    await run([COMPILER, '-p', folder]);
    return '';
  } catch (error) {
    return Object(error).stdout || String(error);
  }
}
