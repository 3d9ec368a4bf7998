/** Reads a stream of Server-Sent Events in a test: each event with its type, its id and its parsed text. */
import type { Test } from 'tap';
import { until } from '../until.ts';

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

export class TestStream {
  readonly events: StreamEvent[] = [];
  readonly response: Response;
  ended = false;
  /** All ids, also those of events without content. */
  readonly ids: string[] = [];
  readonly #abort: AbortController;

  constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.#read().catch(() => {
      this.ended = true;
    });
  }

  async #read(): Promise<void> {
    let text = '';
    for await (const chunk of this.response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }
    this.ended = true;
  }

  #take(block: string): void {
    const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
    this.ids.push(...(fields.has('id') ? [fields.get('id') ?? ''] : []));
    const data = fields.get('data');
    if (data === undefined) return;
    this.events.push({ event: fields.get('event') ?? '', id: fields.get('id') ?? null, data: JSON.parse(data) });
  }

  /** The first event of a type that matches `fits`. */
  async event(type: string, fits: (event: StreamEvent) => boolean = () => true): Promise<StreamEvent> {
    const find = () => this.events.find((one) => one.event === type && fits(one));
    await until(() => find() !== undefined || this.ended, `an event ${type}`);
    const found = find();
    if (found === undefined) throw new Error(`The stream ended without ${type}`);
    return found;
  }

  /** What a browser would send back. */
  get lastEventId(): string {
    return this.ids.at(-1) ?? '';
  }

  close(): void {
    this.#abort.abort();
  }
}

/** Opens a stream; it is cut off at the end of `t`. */
export async function openStream(t: Test, url: string, headers: Record<string, string> = {}): Promise<TestStream> {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  });
  return new TestStream(response, abort);
}
