/**
 * Keeps the examples in the documentation correct: runs every `$ curl …` of a page's console blocks in order against a
 * running program, and writes the real output below each. A block `console listening` starts a receiver of webhooks,
 * and `console arrived` shows what it prints. A block `console functions` runs `npm run functions -- …`, and in
 * `console soon` a command is repeated for some seconds, until it prints what the page shows. `npm run examples`
 * rewrites the pages; a test compares.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { runFunctions } from './example-functions.ts';
import { ExampleListener } from './example-listener.ts';

/** The base URL on the pages. */
export const SHOWN = 'http://127.0.0.1:3000';

export const PAGES = [
  'README.md',
  'docs/tutorial.md',
  'docs/api.md',
  'docs/webhooks.md',
  'docs/automation.md',
  'docs/plugins.md',
] as const;

/** How long a command is repeated, in milliseconds. */
const SOON_MS = 20_000;
const BLOCK = /```console( listening| arrived| functions| soon)?\n([\s\S]*?)```/g;
const shell = promisify(execFile);

/**
 * The page with the current output of its commands.
 * @param base where the program listens, such as `http://127.0.0.1:41231`
 * @param plugins its folder of plugins
 */
export async function withRealOutput(page: string, base: string, plugins: string): Promise<string> {
  let result = '';
  let end = 0;
  let listener: ExampleListener | null = null;
  try {
    for (const match of page.matchAll(BLOCK)) {
      const [whole, kind = '', text = ''] = match;
      result += `${page.slice(end, match.index)}\`\`\`console${kind}\n`;
      for (const command of commandsOf(text)) {
        result += `$ ${command}\n`;
        if (kind === ' listening') {
          listener = await ExampleListener.start(command, base);
          result += await listener.output(0);
        } else if (kind === ' functions') result += await runFunctions(command, base, plugins);
        else if (kind === ' soon') result += await outputSoon(command, base, shownBelow(text, command));
        else if (command.startsWith('curl ')) result += await outputOf(command, base);
      }
      if (kind === ' arrived') result += await listener?.output(Math.max(1, text.split('verified').length - 1));
      result += '```';
      end = match.index + whole.length;
    }
  } finally {
    await listener?.end();
  }
  return result + page.slice(end);
}

/** The commands of a block; one that ends in a backslash continues in the next line. */
function commandsOf(block: string): string[] {
  return [...block.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, command = '']) => command);
}

/** The output of a command in a block. */
function shownBelow(block: string, command: string): string {
  const [, ...lines] = block.slice(block.indexOf(`$ ${command}`)).split('\n');
  const end = lines.findIndex((line) => line.startsWith('$ '));
  return lines.slice(0, end < 0 ? undefined : end).join('\n');
}

/** Effects after a response take a moment: a command is repeated until it prints what is expected. */
async function outputSoon(command: string, base: string, expected: string): Promise<string> {
  const end = performance.now() + SOON_MS;
  for (;;) {
    const output = await outputOf(command, base);
    if (comparable(output).trim() === comparable(expected).trim() || performance.now() > end) return output;
    await pause(100);
  }
}

async function outputOf(command: string, base: string): Promise<string> {
  const { stdout } = await shell('sh', ['-c', command.replaceAll(SHOWN, base).replace(/^curl/, 'curl -s')]);
  const text = stdout
    .replaceAll(base, SHOWN)
    .replaceAll('\r', '')
    .replace(/^(date|connection|keep-alive):.*\n/gim, '');
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

/**
 * A page without the differences between two runs: ids, times, tags, request ids and lengths are replaced by constants.
 */
export function comparable(page: string): string {
  return page
    .replace(/\b[0-9a-f]{24}\b/g, '<id>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/"(\d+)-[\w-]{27}(?=\\?")/g, '"$1-<tag>')
    .replace(/req_[\w-]+/g, '<request>')
    .replace(/content-length: \d+/gi, 'content-length: <n>')
    .replace(/last-modified: .*/gi, 'last-modified: <time>')
    .replace(/\b\d+-\d+(?=\n|"| {2})/g, '<position>')
    .replace(/^\d\d:\d\d:\d\d /gm, '<clock> ')
    .replace(/webhook-timestamp: \d+/g, 'webhook-timestamp: <seconds>')
    .replace(/\b\d+(\.\d)? ms\b/g, '<n> ms')
    .replace(/v1,[\w+/]{43}=/g, 'v1,<signature>')
    .replace(/whsec_[\w+/]+=*/g, 'whsec_<secret>')
    .replace(/cursor=[\w-]+|millrace-next: [\w-]+/g, '<cursor>')
    .replace(/"transaction":"[^"]+"/g, '"transaction":"<transaction>"');
}

if (import.meta.main) {
  const [, , base, plugins] = process.argv;
  if (base === undefined || plugins === undefined)
    throw new Error(
      'Usage: npm run examples -- URL PLUGINS, of a freshly started program with seeded movies and countries and the empty folder of its plugins',
    );
  for (const page of PAGES) {
    const url = new URL(`../${page}`, import.meta.url);
    writeFileSync(url, await withRealOutput(readFileSync(url, 'utf8'), base, plugins));
    process.stdout.write(`${page} is up to date\n`);
  }
}
