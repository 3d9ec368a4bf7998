/**
 * How long a write of another process takes until the open grid shows it. The process is curl, or Node.js where curl is not
 * installed; both tell by the clock of the machine when they began and when they had the answer.
 */
import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import type { Account } from '../accounts.ts';
import { inPage } from '../programs/browser.ts';

/** The first write makes the document; each other one changes it. */
const WRITES = 10;
const DAY_MS = 86_400_000;

interface Write {
  readonly method: 'POST' | 'PATCH';
  readonly url: string;
  readonly authorization: string;
  readonly body: string;
}

/** Milliseconds since 1970. */
interface Taken {
  readonly begun: number;
  readonly answered: number;
}

/**
 * Writes a document and changes its title again and again, beside a grid that shows it.
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
  const fromAnswer: number[] = [];
  for (let write = 0; write < WRITES; write += 1) {
    const Title = `${film.Title} ${write}`;
    await inPage(page, WATCH, Title);
    const { begun, answered } = await by(
      write === 0
        ? { method: 'POST', url: `${origin}/api/movies`, authorization, body: JSON.stringify({ ...film, Title }) }
        : { method: 'PATCH', url: `${origin}/api/movies/${film.id}`, authorization, body: JSON.stringify({ Title }) },
    );
    const shown = await inPage<number>(page, '() => globalThis.shownAt');
    fromBegin.push(shown - begun);
    fromAnswer.push(shown - answered);
  }
  return `${by === byCurl ? 'curl' : 'Node.js (curl is not installed)'} → grid: from the end of the answer ${inWords(fromAnswer)}; from the beginning of the request ${inWords(fromBegin)}`;
}

/** Notes when a cell with this text is in the document. */
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

/** curl writes the time of day before each line of its trace. */
async function byCurl({ method, url, authorization, body }: Write): Promise<Taken> {
  const json = 'content-type: application/json';
  const headers = [json, `authorization: ${authorization}`].flatMap((line) => ['-H', line]);
  const options = ['-sS', '--fail', '-v', '--trace-time', '-X', method, ...headers, '--data-binary', body];
  const { stderr } = await promisify(execFile)('curl', [...options, url]);
  const times = [...stderr.matchAll(/^(\d\d):(\d\d):(\d\d\.\d+) /gm)].map(([, hours, minutes, seconds]) => {
    const midnight = new Date().setHours(0, 0, 0, 0);
    const at = midnight + Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1_000;
    return at > Date.now() + DAY_MS / 2 ? at - DAY_MS : at;
  });
  const [begun, answered] = [times[0], times.at(-1)];
  if (begun === undefined || answered === undefined) throw new Error(`No times in the trace of curl:\n${stderr}`);
  return { begun, answered };
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
