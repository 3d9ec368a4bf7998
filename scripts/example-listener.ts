/**
 * The webhook receiver of a documentation page: `npm run webhooks -- listen` as a separate program, which runs beside
 * the other commands of the page (examples.ts).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const COMMAND = 'npm run webhooks -- listen 8080 ';
/** Where it listens on the pages. Here it uses a free port. */
const SHOWN = '127.0.0.1:8080';
const READY = 'Press Ctrl-C to remove it.\n\n';
const DELIVERY = /^\S+ .*verified/gim;
const WAIT_MS = 30_000;

export class ExampleListener {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** The last line of a delivery. */
  readonly #ending: string;
  #output = '';
  #shown = 0;
  #look = () => {};

  private constructor(words: readonly string[]) {
    this.#child = spawn(process.execPath, [MAIN, 'webhooks', 'listen', '0', ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#ending = words.includes('--verbose') ? '\n\n' : '\n';
    this.#ended = new Promise((resolve) => this.#child.once('close', resolve));
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#look();
      });
    }
  }

  /**
   * Starts it, and waits until it listens.
   * @param command as on the page
   * @param base where Millrace listens
   */
  static async start(command: string, base: string): Promise<ExampleListener> {
    if (!command.startsWith(COMMAND)) throw new Error(`A page can show ${COMMAND}…, and not ${command}`);
    const words = command.slice(COMMAND.length).split(/\s+/);
    const listener = new ExampleListener([...words.map((word) => word.replaceAll("'", '')), '--url', base]);
    await listener.#until('it listens', () => listener.#output.includes(READY));
    return listener;
  }

  /** The output since the last call, as the page shows it. @param deliveries how many to wait for */
  async output(deliveries: number): Promise<string> {
    const fresh = () => this.#output.slice(this.#shown);
    await this.#until(
      `${deliveries} deliveries are shown`,
      () => (fresh().match(DELIVERY) ?? []).length >= deliveries && fresh().endsWith(this.#ending),
    );
    const text = fresh();
    this.#shown = this.#output.length;
    const port = /Listening at http:\/\/(\S+)\//.exec(this.#output)?.[1] ?? SHOWN;
    return `${text.replaceAll(port, SHOWN).trim()}\n`;
  }

  /** Ends it as Ctrl-C does. */
  async end(): Promise<void> {
    this.#child.kill('SIGINT');
    await this.#ended;
  }

  async #until(what: string, holds: () => boolean): Promise<void> {
    const late = setTimeout(() => this.#child.kill('SIGKILL'), WAIT_MS);
    const over = this.#ended.then(() => {
      throw new Error(`The listener ended before ${what}:\n${this.#output}`);
    });
    const done = new Promise<void>((resolve) => {
      this.#look = () => holds() && resolve();
      this.#look();
    });
    await Promise.race([done, over]).finally(() => clearTimeout(late));
    over.catch(() => {});
  }
}
