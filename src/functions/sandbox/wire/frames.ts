/**
 * Frames on the pipe between the server and the runner: two lengths, a JSON head, and a text body that is passed on unparsed.
 * Used by both ends.
 */

/** Bytes of the two lengths: the rest of the frame, and the head. */
const PREFIX = 8;

export interface Frame {
  /** Parsed JSON of the other end: not validated yet. */
  readonly head: unknown;
  readonly body: string;
}

export function encodeFrame(head: object, body: string): Buffer {
  const text = JSON.stringify(head);
  const headBytes = Buffer.byteLength(text);
  const total = headBytes + Buffer.byteLength(body);
  const frame = Buffer.allocUnsafe(PREFIX + total);
  frame.writeUInt32LE(total, 0);
  frame.writeUInt32LE(headBytes, 4);
  frame.write(text, PREFIX);
  frame.write(body, PREFIX + headBytes);
  return frame;
}

/** Assembles chunks of a stream into frames. */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #onFrame: (frame: Frame) => void;
  #chunks: Buffer[] = [];
  #held = 0;
  /** Bytes that the current frame needs; those of the prefix until its lengths are known. */
  #needed = PREFIX;

  /** @param maxBytes of one frame */
  constructor(maxBytes: number, onFrame: (frame: Frame) => void) {
    this.#maxBytes = maxBytes;
    this.#onFrame = onFrame;
  }

  /**
   * Consumes a chunk, and emits complete frames.
   * @throws Error for a frame that is too long, or whose head is not JSON
   */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    while (this.#held >= this.#needed) {
      const bytes = this.#chunks.length === 1 ? (this.#chunks[0] ?? chunk) : Buffer.concat(this.#chunks, this.#held);
      const total = bytes.readUInt32LE(0);
      const headBytes = bytes.readUInt32LE(4);
      if (total > this.#maxBytes || headBytes > total) throw new Error('A frame is too long');
      this.#needed = PREFIX + total;
      this.#chunks = [bytes];
      if (bytes.length < this.#needed) return;
      const rest = bytes.subarray(this.#needed);
      this.#chunks = rest.length > 0 ? [rest] : [];
      this.#held = rest.length;
      this.#needed = PREFIX;
      this.#onFrame({
        head: JSON.parse(bytes.toString('utf8', PREFIX, PREFIX + headBytes)),
        body: bytes.toString('utf8', PREFIX + headBytes, PREFIX + total),
      });
    }
  }
}

/** Writes the frames of one tick of the event loop together. */
export class FrameWriter {
  readonly #write: (bytes: Buffer) => void;
  #frames: Buffer[] = [];

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  send(head: object, body = ''): void {
    this.#frames.push(encodeFrame(head, body));
    if (this.#frames.length === 1) process.nextTick(() => this.#flush());
  }

  #flush(): void {
    const frames = this.#frames;
    this.#frames = [];
    this.#write(frames.length === 1 ? (frames[0] ?? Buffer.alloc(0)) : Buffer.concat(frames));
  }
}
