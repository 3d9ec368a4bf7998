/** Compiles the scripts of a plugin like an author's editor: with the generated types and nothing else. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { TSCONFIG_TEMPLATE } from '../../../src/functions/plugins/typings/tsconfig-template.ts';

const COMPILER = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));
const run = promisify(execFile);

/**
 * @param types the text of `millrace.d.ts`
 * @param scripts by path
 * @returns the compiler's errors, one line each; empty when there are none
 */
export async function compileForAuthors(
  t: Test,
  types: string,
  scripts: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-author-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const files = { 'tsconfig.json': TSCONFIG_TEMPLATE, 'millrace.d.ts': types, ...scripts };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  try {
    await run(process.execPath, [COMPILER, '--project', folder, '--pretty', 'false'], { cwd: folder });
    return [];
  } catch (error) {
    if (!(error instanceof Error && 'stdout' in error)) throw error;
    return String(error.stdout)
      .trim()
      .split('\n')
      .filter((line) => /^\S/.test(line));
  }
}
