/**
 * Schemathesis, a public program that tests HTTP APIs against their OpenAPI document: installed from PyPI at a fixed
 * version, apart from the dependencies, and run against a running server.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '4.32.5';
/**
 * Its packages and nothing else. The folder's name matters: Hypothesis treats modules elsewhere as code under test, and
 * reads all of them for constants.
 */
const FOLDER = fileURLToPath(
  new URL(`../../../node_modules/.cache/millrace/schemathesis-${VERSION}/site-packages`, import.meta.url),
);
const INSTALL_MS = 240_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/** Why it cannot run here, or undefined when it can. Installs it the first time. */
export function whyNoSchemathesis(): string | undefined {
  if (existsSync(FOLDER)) return undefined;
  mkdirSync(dirname(FOLDER), { recursive: true });
  const fresh = mkdtempSync(`${FOLDER}-`);
  try {
    // Not compiled: Python does that for the few modules that are used.
    const words = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--disable-pip-version-check', '--target', fresh];
    execFileSync('python3', [...words, `schemathesis==${VERSION}`], { stdio: 'pipe', timeout: INSTALL_MS });
    renameSync(fresh, FOLDER);
    return undefined;
  } catch {
    return existsSync(FOLDER) ? undefined : `python3 with pip could not install schemathesis ${VERSION}`;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

export interface Run {
  /** The exit code; 0 when all checks passed. */
  readonly code: number;
  readonly output: string;
}

/** Runs it with these arguments after `schemathesis run`. */
export function schemathesis(words: readonly string[], cwd: string, timeoutMs: number): Promise<Run> {
  // Without `no_proxy` the settings of proxies are looked up at each request.
  const env = { ...process.env, PYTHONPATH: FOLDER, NO_COLOR: '1', no_proxy: '*' };
  return new Promise((resolve) => {
    execFile(
      'python3',
      ['-m', 'schemathesis.cli', 'run', ...words],
      { cwd, env, timeout: timeoutMs, maxBuffer: MAX_OUTPUT },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, output: `${stdout}${stderr}` });
      },
    );
  });
}

/** The part of its output about failed checks. */
export function failuresOf({ output }: Run): string {
  const from = output.search(/=+ (?:FAILURES|ERRORS) =+/);
  return (from < 0 ? output.slice(-6_000) : output.slice(from)).slice(0, 12_000);
}

/** A folder for its own files. */
export function scratch(parent: string): string {
  return mkdtempSync(join(parent, 'schemathesis-'));
}
