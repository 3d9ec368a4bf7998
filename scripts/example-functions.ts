/**
 * The commands `npm run functions -- …` of a documentation page, run as programs against the program that the page uses
 * (examples.ts). It waits for a new plugin, because the program loads it in the background.
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
 * @param command as on the page
 * @param base where the program listens
 * @param plugins its folder of plugins
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
  // The URL on the page is the default of the commands.
  const shown = stdout.replaceAll(` --url ${base}`, '').replaceAll(base, SHOWN_URL);
  return shown.replaceAll(relative('', plugins), SHOWN_FOLDER);
}

async function loaded(plugin: string): Promise<void> {
  const end = performance.now() + LOADED_MS;
  while (performance.now() < end) {
    const response = await fetch(plugin);
    await response.body?.cancel();
    if (response.ok) return;
    await pause(50);
  }
  throw new Error(`${plugin}: the program has not loaded it`);
}
