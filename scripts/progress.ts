/**
 * Prints the progress of a task: at a terminal as one line that changes, in a log as a line now and then and one at the
 * end.
 */

/** The output: standard output, or a substitute. */
export interface Screen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const WIDTH = 24;
/** The shortest time between two updates, in milliseconds: at a terminal, and in a log. */
const DRAW_MS = 50;
const LINE_MS = 5_000;

export class Progress {
  readonly #screen: Screen;
  readonly #name: string;
  readonly #total: number;
  readonly #started = performance.now();
  #shown = performance.now();
  #done = 0;

  constructor(screen: Screen, name: string, total: number) {
    this.#screen = screen;
    this.#name = name;
    this.#total = total;
    if (screen.isTTY) this.#draw();
  }

  /** Counts `more` as done. */
  add(more: number): void {
    this.#done += more;
    const now = performance.now();
    if (now - this.#shown < (this.#screen.isTTY ? DRAW_MS : LINE_MS)) return;
    this.#shown = now;
    if (this.#screen.isTTY) this.#draw();
    else this.#screen.write(`  ${this.#counts()} …\n`);
  }

  /** The last line. */
  end(): void {
    if (this.#screen.isTTY) this.#draw();
    this.#screen.write(this.#screen.isTTY ? '\n' : `  ${this.#counts()}  ${this.#seconds()}\n`);
  }

  #draw(): void {
    const filled = this.#total === 0 ? WIDTH : Math.floor((this.#done / this.#total) * WIDTH);
    const bar = '█'.repeat(filled).padEnd(WIDTH, '░');
    this.#screen.write(`\r  ${this.#counts()}  ${bar}  ${this.#seconds()} `);
  }

  #counts(): string {
    const total = this.#total.toLocaleString('en');
    return `${this.#name.padEnd(10)} ${this.#done.toLocaleString('en').padStart(total.length)} of ${total}`;
  }

  #seconds(): string {
    return `${((performance.now() - this.#started) / 1000).toFixed(1)} s`;
  }
}
