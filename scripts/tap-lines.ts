/**
 * Turns the TAP output of one test file into readable lines: the skipped tests of a file that passed, the failures of
 * one that failed; and its totals.
 */

/** The processor time that a test file took, with its child processes, in seconds. */
export interface FileCost {
  readonly file: string;
  readonly cpuSeconds: number;
}

export interface Totals {
  readonly pass: number;
  readonly fail: number;
  readonly skip: number;
}

/** Maximum lines of one failing file; older lines are dropped. */
const STORY_LINES = 5000;

export class TapLines {
  /** tap's totals, once it has written them. A file that ended without them was cut off. */
  totals: Totals | null = null;
  /** The files that have ended, with their processor time: a comment that test-process.ts writes after each. */
  readonly files: FileCost[] = [];
  #lines: string[] = [];

  /** Processes the next line. Keeps it, except those of passed tests and those without meaning for a reader. */
  feed(line: string): void {
    const totals = /^# \{ (total: .*) \}$/.exec(line)?.[1];
    if (totals !== undefined) {
      this.totals = parseTotals(totals);
      return;
    }
    const [, seconds, file] = /^# processor ([\d.]+) s: (.*)$/.exec(line) ?? [];
    if (file !== undefined) {
      this.files.push({ file, cpuSeconds: Number(seconds) });
      return;
    }
    const ok = /^(\s*)ok \d+(?!.*# (?:SKIP|TODO)\b)(?:.* # time=)?/i.exec(line);
    if (ok !== null) this.#forget(`${ok[1]}# Subtest: `, ok[0].endsWith(' # time='));
    else if (!/^\s*(?:1\.\.\d+|# time=.*|TAP version \d+)?$/.test(line)) this.#lines.push(line);
    if (this.#lines.length > STORY_LINES) this.#lines.shift();
  }

  /** The lines of tests that were skipped or are marked todo, with their reasons. */
  skipped(): string[] {
    return this.#lines.filter((line) => / # (?:SKIP|TODO)\b/.test(line));
  }

  /** All lines that do not belong to a passed test, in order. */
  failures(): readonly string[] {
    return this.#lines;
  }

  /** Drops a subtest that passed, from its heading on. */
  #forget(heading: string, isSubtest: boolean): void {
    const start = isSubtest ? this.#lines.findLastIndex((line) => line.startsWith(heading)) : -1;
    if (start < 0) return;
    const skipped = this.#lines.slice(start).filter((line) => / # (?:SKIP|TODO)\b/.test(line));
    this.#lines.splice(start, Infinity, ...skipped);
  }
}

/** Reads tap's last comment, such as `total: 5, pass: 3, fail: 1, skip: 1`. Todo tests count as skipped. */
function parseTotals(text: string): Totals {
  const count = (name: string): number => Number(new RegExp(`\\b${name}: (\\d+)`).exec(text)?.[1] ?? 0);
  return { pass: count('pass'), fail: count('fail'), skip: count('skip') + count('todo') };
}
