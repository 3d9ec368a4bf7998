/**
 * A program that runs an embedded MongoDB, for tests that end programs in every possible way. Run as a program (`node
 * embedded-program.ts <folder>`) it starts a MongoDB, prints a line of JSON, and keeps running.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { startEmbeddedDatabase } from '../../../src/database/embedded/embedded.ts';
import { findProcess, type ProcessInfo, waitForProcessExit } from '../../../src/database/embedded/process-info.ts';
import { MillraceError } from '../../../src/lib/errors.ts';

export interface EmbeddedProgram {
  readonly child: ChildProcess;
  readonly url: string;
  readonly mongod: ProcessInfo;
  readonly watchdog: ProcessInfo;
}

/** A data folder with a space in its name. It is removed at teardown, when no process uses it any more. */
export async function dataFolder(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace test '));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Starts the program and waits until its MongoDB runs; both have ended at the end of `t`. */
export async function startProgram(t: Test, folder: string): Promise<EmbeddedProgram> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  const said: { url: string; pid: number; error?: string } = JSON.parse(String(line));
  if (said.error !== undefined) throw new MillraceError('database-unavailable', said.error);
  const mongod = await running(said.pid);
  const watchdog = await running(mongod.parent);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await waitForProcessExit(mongod, 15_000);
  });
  return { child, url: said.url, mongod, watchdog };
}

async function running(pid: number): Promise<ProcessInfo> {
  const found = await findProcess(pid);
  if (found === null) throw new MillraceError('internal', `No program ${pid} runs.`);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const said = await startEmbeddedDatabase({
    folder: process.argv[2] ?? '',
    binary: process.env['MONGOD_BINARY'],
  }).then(
    ({ url, pid }) => ({ url, pid }),
    (error: unknown) => ({ error: String(error) }),
  );
  console.log(JSON.stringify(said));
  if ('url' in said) setInterval(() => {}, 60_000);
}
