/**
 * The commands `npm run functions -- …` that a page of the documentation shows, run as programs against the program that the
 * page is tried with (examples.ts). A new plugin is waited for, because the program loads it by itself.
 */
import { execFile } from 'node:child_process';
import { relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const COMMAND = 'npm run functions -- ';
const SHOWN_URL = 'http://127.0.0.1:3000';
const SHOWN_FOLDER = 'plugins';
const LOADED_MS = 20_000;
const run = promisify(execFile);

/**
 * @param command as the page shows it
 * @param base where the program listens
 * @param plugins the folder of plugins that it reads
 * @returns the output as the page shows it
 */
export async function runFunctions(command: string, base: string, plugins: string): Promise<string> {
  if (!command.startsWith(COMMAND)) throw new Error(`A page can show ${COMMAND}…, and not ${command}`);
  const words = [...command.slice(COMMAND.length).matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, quoted, word]) => quoted ?? word ?? '',
  );
  const options = ['--url', base, ...(words[0] === 'logs' ? [] : ['--folder', plugins])];
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { stdout } = await run(process.execPath, [MAIN, 'functions', ...words, ...options], { env });
  if (words[0] === 'new') await loaded(`${base}/admin/plugins/${words[1]}`);
  // The address on the page is the one that commands need no word for.
  const shown = stdout.replaceAll(` --url ${base}`, '').replaceAll(base, SHOWN_URL);
  return shown.replaceAll(relative('', plugins), SHOWN_FOLDER);
}

async function loaded(plugin: string): Promise<void> {
  const end = performance.now() + LOADED_MS;
  while (performance.now() < end) {
    const answer = await fetch(plugin);
    await answer.body?.cancel();
    if (answer.ok) return;
    await pause(50);
  }
  throw new Error(`${plugin}: the program has not loaded it`);
}
