/**
 * Turns tap's stream into what a person wants to read: one line a test file, the whole story of a file that failed,
 * and the totals. Pure but for its own buffer; who runs tap is run-tests.ts.
 */

export interface Totals {
  readonly pass: number;
  readonly fail: number;
  readonly skip: number;
}

/** Enough for the story of one failing file; older lines are dropped. */
const STORY_LINES = 5000;

/** Fed line by line; answers with the lines to print. */
export class TapLines {
  /** tap's own totals, once it wrote them. */
  totals: Totals | null = null;
  #story: string[] = [];
  #passed = 0;
  /** Inside the block that follows a failed file: how its process ended. */
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

  /** What is left when the stream broke off inside a file. */
  rest(): string[] {
    return this.#story.filter((line) => line.startsWith(' '));
  }

  /** What passed is counted and its story forgotten, as is the stream's punctuation. */
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

/** tap's last comment, such as `total: 5, pass: 3, fail: 1, skip: 1`; what is to do counts as skipped. */
function parseTotals(text: string): Totals {
  const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0);
  return { pass: count('pass'), fail: count('fail'), skip: count('skip') + count('todo') };
}
