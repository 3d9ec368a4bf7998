/**
 * A response whose event ids contain the pass of the stream (lib/streaming/stream-ids.ts). The pass is written after
 * each event, because the bytes of an event are shared with other clients.
 */
import { formatStreamEventId } from '../../lib/streaming/stream-ids.ts';
import type { WritableConnection } from './send-queue.ts';

const ID = '\nid: ';
/** Where to search for the id of an event: ids are at its end. */
const END_BYTES = 64;
const BREAK = 2;

export class ResumableStreamWriter implements WritableConnection {
  readonly #to: WritableConnection;
  /** The text after a position, with the end of the event. */
  readonly #end: Buffer;

  constructor(to: WritableConnection, pass: string) {
    this.#to = to;
    this.#end = Buffer.from(`${formatStreamEventId('', pass)}\n\n`);
  }

  /**
   * Writes an event without content, so that the client receives the pass with the response head.
   * @param since the position from which the client resumes: it must not be lost if the connection breaks before the
   * next one; null for a stream that starts with a snapshot
   */
  writeFirstId(since: string | null): void {
    this.#to.write(Buffer.concat([Buffer.from(`id: ${since ?? ''}`), this.#end]));
  }

  /** @param event a complete event */
  write(event: Buffer): boolean {
    if (!event.subarray(-END_BYTES).includes(ID)) return this.#to.write(event);
    this.#to.write(event.subarray(0, -BREAK));
    return this.#to.write(this.#end);
  }

  get writableLength(): number {
    return this.#to.writableLength;
  }

  get writable(): boolean {
    return this.#to.writable;
  }

  cork(): void {
    this.#to.cork();
  }

  uncork(): void {
    this.#to.uncork();
  }

  on(event: 'drain', listener: () => void): unknown {
    return this.#to.on(event, listener);
  }
}
