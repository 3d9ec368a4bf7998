/**
 * Keeps the tour of production mode in docs/tutorial.md right: runs the commands of its blocks in one shell, against a
 * program without an administrator, and writes the real output below each. A test compares; `npm run production-tour` rewrites
 * the page.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { comparable, SHOWN } from './examples.ts';

export const PAGE = new URL('../docs/tutorial.md', import.meta.url);

const BLOCK = /```console production\n([\s\S]*?)```/g;
const MARK = '--- next command ---';

/** A program in production mode, and the secret of its setup link. */
export interface Fresh {
  /** Where it listens, such as `http://127.0.0.1:41231`. */
  readonly base: string;
  /** The part of the link after `#`. */
  readonly token: string;
}

/** The page with the current output of its commands. Tokens are shortened: they are long, and secret. */
export async function withProductionOutput(page: string, { base, token }: Fresh): Promise<string> {
  const blocks = [...page.matchAll(BLOCK)].map(([, text = '']) => commandsOf(text));
  const outputs = await run(
    blocks.flat().map((command) => command.replaceAll(SHOWN, base)),
    token,
  );
  let at = 0;
  let block = 0;
  return page.replace(BLOCK, () => {
    const shown = (blocks[block++] ?? []).map((command) => `$ ${command}\n${tidy(outputs[at++] ?? '', base)}`);
    return `\`\`\`console production\n${shown.join('')}\`\`\``;
  });
}

/** A page without the differences between two runs. */
export function alike(page: string): string {
  return comparable(page)
    .replace(/\bmr_[A-Za-z]{12}/g, 'mr_<key>')
    .replace(/"id":"[A-Za-z]{12}"/g, '"id":"<key>"');
}

function commandsOf(block: string): string[] {
  return [...block.matchAll(/^\$ ((?:.*\\\n)*.*)$/gm)].map(([, command = '']) => command);
}

/** Runs commands in one shell, so that one can set variables for the next ones. */
async function run(commands: readonly string[], token: string): Promise<string[]> {
  const script = commands.map((command) => `${command.replace(/^curl /, 'curl -s ')}\necho '${MARK}'\n`).join('');
  const child = spawn('sh', {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', TOKEN: token },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  child.stdin.end(script);
  await new Promise((resolve) => child.once('close', resolve));
  return output.split(`${MARK}\n`);
}

function tidy(output: string, base: string): string {
  const text = output
    .replaceAll(base, SHOWN)
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'eyJ…')
    .replace(/mrr_[\w-]+/g, 'mrr_…')
    .replace(/(mr_[A-Za-z]{12}_)[\w-]{43}/g, '$1…');
  return text === '' || text.endsWith('\n') ? text : `${text}\n`;
}

if (import.meta.main) {
  const [base, token] = process.argv.slice(2);
  if (base === undefined || token === undefined) {
    throw new Error(
      'Usage: npm run production-tour -- URL TOKEN, of a program in production mode without an administrator',
    );
  }
  writeFileSync(PAGE, await withProductionOutput(readFileSync(PAGE, 'utf8'), { base, token }));
  process.stdout.write('docs/tutorial.md is up to date\n');
}
