/**
 * How long a write of another process takes until the open grid shows it. The process is curl, or Node.js where curl is
 * not installed. Its start and its response are timed by the system clock, as is the appearance of the cell in the
 * browser.
 */
import { execFile, execFileSync } from 'node:child_process';
import { setTimeout as rest } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { inPage } from '../programs/browser.ts';
import type { Account } from '../users.ts';

/** The first write creates the document; each other one changes it. */
const WRITES = 10;
/** The grid groups writes that follow each other within 200 ms. These are sent one by one, as a person would. */
const REST_MS = 300;

interface Write {
  readonly method: 'POST' | 'PATCH';
  readonly url: string;
  readonly authorization: string;
  readonly body: string;
}

/** Milliseconds since 1970. */
interface Taken {
  readonly begun: number;
  readonly response: number;
}

/**
 * Writes a document and changes its title repeatedly, beside a grid that shows it.
 * @param page where the grid of `movies` is open
 * @param origin where the program listens
 * @param film with a title that no other document of the grid has
 * @returns the times in words
 */
export async function writeToGrid(
  page: Page,
  origin: string,
  owner: Account,
  film: { readonly id: string; readonly Title: string },
): Promise<string> {
  const by = hasCurl() ? byCurl : byNode;
  const { authorization } = owner.headers;
  const fromBegin: number[] = [];
  const fromResponse: number[] = [];
  for (let write = 0; write < WRITES; write += 1) {
    const Title = `${film.Title} ${write}`;
    await rest(REST_MS);
    await inPage(page, WATCH, Title);
    const { begun, response } = await by(
      write === 0
        ? { method: 'POST', url: `${origin}/api/movies`, authorization, body: JSON.stringify({ ...film, Title }) }
        : { method: 'PATCH', url: `${origin}/api/movies/${film.id}`, authorization, body: JSON.stringify({ Title }) },
    );
    const shown = await inPage<number>(page, '() => globalThis.shownAt');
    fromBegin.push(shown - begun);
    fromResponse.push(shown - response);
  }
  return `${by === byCurl ? 'curl' : 'Node.js (curl is not installed)'} → grid: from its end ${inWords(fromResponse)}; from its start ${inWords(fromBegin)}`;
}

/** Records when a cell with this text is in the document. */
const WATCH = `(text) => {
  const isThere = () => [...document.querySelectorAll('[role=gridcell]')].some((cell) => cell.textContent === text);
  globalThis.shownAt = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!isThere()) return;
      observer.disconnect();
      resolve(Date.now());
    });
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}`;

/** The milliseconds before and after its arguments run as a program. curl's own times have a resolution of a second. */
const TIMED = 'date +%s%3N; "$@" > /dev/null; status=$?; date +%s%3N; exit $status';

async function byCurl({ method, url, authorization, body }: Write): Promise<Taken> {
  const headers = ['-H', 'content-type: application/json', '-H', `authorization: ${authorization}`];
  const curl = ['curl', '-sS', '--fail', '-X', method, ...headers, '--data-binary', body, url];
  const { stdout } = await promisify(execFile)('sh', ['-c', TIMED, 'sh', ...curl]);
  const [begun, response] = stdout.trim().split('\n').map(Number);
  if (begun === undefined || response === undefined) throw new Error(`No times: ${stdout}`);
  return { begun, response };
}

const NODE_PROGRAM = `
const { method, url, authorization, body } = JSON.parse(process.argv[1]);
const begun = Date.now();
const answer = await fetch(url, { method, body, headers: { authorization, 'content-type': 'application/json' } });
await answer.text();
if (!answer.ok) throw new Error(String(answer.status));
console.log(JSON.stringify({ begun, answered: Date.now() }));`;

async function byNode(write: Write): Promise<Taken> {
  const node = [process.execPath, ['--input-type=module', '-e', NODE_PROGRAM, JSON.stringify(write)]] as const;
  return JSON.parse((await promisify(execFile)(...node)).stdout);
}

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function inWords(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const [middle, most] = [sorted[sorted.length >> 1], sorted.at(-1)].map((ms = 0) => Math.round(ms));
  return `${middle} ms in the middle of ${times.length}, ${most} at most`;
}
