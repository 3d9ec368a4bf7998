/**
 * Generators that make clients from the contract, and the programs that use these clients (`integrations/openapi-clients`). The
 * packages have a lockfile of their own: some generators need the programming interface of TypeScript 5, which the compiler of
 * this project no longer has.
 */
import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CLIENTS = join(ROOT, 'integrations/openapi-clients');
const COMPILER = join(ROOT, 'node_modules/typescript/lib/tsc.js');
const MAX_OUTPUT = 16 * 1024 * 1024;

export interface Run {
  /** The exit code; 0 when all went well. */
  readonly code: number;
  readonly output: string;
}

/** A folder in which programs find the packages of the clients. It is removed at the end. */
export function programFolder(t: Test): string {
  const above = join(CLIENTS, 'node_modules/.cache');
  mkdirSync(above, { recursive: true });
  const folder = mkdtempSync(join(above, 'program-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Copies a program of `integrations/openapi-clients/programs`. */
export function copyProgram(name: string, to: string): void {
  copyFileSync(join(CLIENTS, 'programs', name), to);
}

/** Names of all types and values that browsers and ECMAScript have without an import. */
export function globalNames(): ReadonlySet<string> {
  const folder = join(CLIENTS, 'node_modules/typescript/lib');
  const declared = /^(?:declare )?(?:abstract )?(?:interface|type|class|var|const|let|function|enum|namespace) (\w+)/gm;
  const files = readdirSync(folder).filter((name) => /^lib\..*\.d\.ts$/.test(name));
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(declared)].map(([, name = '']) => name)));
}

/** Runs a program and collects what it prints. */
export function run(
  program: string,
  words: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Run> {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, NO_COLOR: '1', ...env }, maxBuffer: MAX_OUTPUT };
    execFile(program, words, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}

/** Runs a script under this Node. */
export function runNode(words: readonly string[], cwd: string): Promise<Run> {
  return run(process.execPath, words, cwd);
}

/** Runs a command that a package of the clients brings. @param script its path below `node_modules` */
export function runPackage(script: string, words: readonly string[], cwd: string): Promise<Run> {
  return runNode([join(CLIENTS, 'node_modules', script), ...words], cwd);
}

/** The strictest usual settings of TypeScript. */
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  forceConsistentCasingInFileNames: true,
};

/**
 * Compiles all sources of a folder with this project's compiler, into `dist`.
 * @returns its messages; empty when all is well
 */
export async function compile(folder: string, options: object = {}): Promise<string> {
  const compilerOptions = {
    ...STRICT,
    target: 'es2024',
    module: 'nodenext',
    lib: ['es2024', 'dom', 'dom.iterable'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    rewriteRelativeImportExtensions: true,
    skipLibCheck: true,
    rootDir: '.',
    outDir: 'dist',
    ...options,
  };
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, JSON.stringify({ type: 'module' }));
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, exclude: ['dist'] }));
  const { code, output } = await runNode([COMPILER, '-p', folder], folder);
  return code === 0 ? '' : output;
}
