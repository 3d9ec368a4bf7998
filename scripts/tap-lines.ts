/**
 * Turns tap's output into readable lines: one line for each test file, the whole output of a file that failed, and the
 * totals. It has a buffer and no other state. Not here: running tap (run-tests.ts).
 */

export interface Totals {
  readonly pass: number;
  readonly fail: number;
  readonly skip: number;
}

/** The most lines that are kept of one failing file; older lines are dropped. */
const STORY_LINES = 5000;

/** Takes tap's output line by line and returns the lines to print. */
export class TapLines {
  /** tap's own totals, once it has written them. */
  totals: Totals | null = null;
  #story: string[] = [];
  #passed = 0;
  /** True inside the block after a failed file, which says how its process ended. */
  #inEnd = false;

  feed(line: string): string[] {
    const totals = /^# \{ (total: .*) \}$/.exec(line)?.[1];
    if (totals !== undefined) this.totals = parseTotals(totals);
    if (this.#inEnd || line === '  ---') {
      this.#inEnd = line !== '  ...';
      return /^ {2}(?:exitCode|signal|failure|expired|timeout|error):(?! null)/.test(line) ? [line] : [];
    }
    const file = /^(not )?ok \d+ - (.*?)(?: # time=(\S+))?$/.exec(line);
    if (file === null) {
      this.#keep(line);
      return [];
    }
    const title = `${file[2]} (${this.#passed} passed, ${file[3] ?? 'no time'})`;
    const shown =
      file[1] === undefined
        ? [...this.#story.filter((line) => / # (?:SKIP|TODO)\b/.test(line)), `✓ ${title}`]
        : [...this.#story, `✗ ${title}`];
    this.#story = [];
    this.#passed = 0;
    return shown;
  }

  /** The lines that are left when the output broke off inside a file. */
  rest(): string[] {
    return this.#story.filter((line) => line.startsWith(' '));
  }

  /** Keeps a line, except those of passed tests and those without meaning for a reader. */
  #keep(line: string): void {
    const ok = /^(\s+)ok \d+(?!.*# (?:SKIP|TODO)\b)(.* # time=)?/i.exec(line);
    if (ok !== null && ok[2] === undefined) this.#passed += 1;
    else if (ok !== null) this.#forget(`${ok[1]}# Subtest: `);
    else if (!/^\s*(?:1\.\.\d+|# time=.*|TAP version \d+)?$/.test(line)) this.#story.push(line);
    if (this.#story.length > STORY_LINES) this.#story.shift();
  }

  #forget(heading: string): void {
    const start = this.#story.findLastIndex((line) => line.startsWith(heading));
    if (start >= 0) this.#story.length = start;
  }
}

/** Reads tap's last comment, such as `total: 5, pass: 3, fail: 1, skip: 1`. Tests marked as to do count as skipped. */
function parseTotals(text: string): Totals {
  const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0);
  return { pass: count('pass'), fail: count('fail'), skip: count('skip') + count('todo') };
}
