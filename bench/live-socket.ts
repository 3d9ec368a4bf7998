/**
 * A WebSocket client on a plain socket (RFC 6455), with only what the server's frames need. It parses as little as
 * possible, so that one program can hold thousands of them. It can stop reading, so that bytes wait in the kernel.
 */
import { connect, type Socket } from 'node:net';

const KEY = 'AAAAAAAAAAAAAAAAAAAAAA==';
const TEXT = 1;
const CLOSE = 8;

export class LiveSocket {
  readonly #socket: Socket;
  #held: Buffer = Buffer.alloc(0);
  /** Called with the JSON of each message, and at the end with the close code; 1006 if there was none. */
  onMessage: (json: Buffer) => void = () => {};
  onClose: (code: number) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    let code = 1006;
    socket.on('data', (chunk) => {
      code = this.#read(chunk) ?? code;
    });
    socket.on('error', () => {});
    socket.on('close', () => this.onClose(code));
  }

  /** @param base `http://host:port` */
  static open(base: string): Promise<LiveSocket> {
    const { hostname, port } = new URL(base);
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    socket.write(
      `GET /realtime HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n\r\n`,
    );
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('The server closed the connection')));
      socket.once('data', (chunk) => {
        const end = chunk.indexOf('\r\n\r\n');
        if (end < 0 || !chunk.toString('latin1', 0, 12).endsWith('101')) {
          reject(new Error(`No upgrade: ${chunk.toString('latin1', 0, 40)}`));
          return;
        }
        const live = new LiveSocket(socket);
        if (chunk.length > end + 4) live.#read(chunk.subarray(end + 4));
        resolve(live);
      });
    });
  }

  /** Sends a message of at most 64 KiB. Its mask is zero, which is a valid mask. */
  send(message: object): void {
    const json = Buffer.from(JSON.stringify(message));
    const head = json.length < 126 ? [0x81, 0x80 | json.length] : [0x81, 0xfe, json.length >> 8, json.length & 0xff];
    this.#socket.write(Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), json]));
  }

  /** Stops reading: what arrives waits in the kernel, and when that is full, in the server. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Reads the frames of a chunk. Returns the close code if one of them is a close. */
  #read(chunk: Buffer): number | null {
    let bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let code: number | null = null;
    for (;;) {
      const [length, head] = lengthOf(bytes);
      if (bytes.length < head + length) break;
      const opcode = (bytes[0] ?? 0) & 15;
      const body = bytes.subarray(head, head + length);
      bytes = bytes.subarray(head + length);
      if (opcode === TEXT) this.onMessage(body);
      else if (opcode === CLOSE) code = body.length < 2 ? 1005 : body.readUInt16BE();
    }
    this.#held = bytes;
    return code;
  }
}

/**
 * The length of the first frame's payload, and of the bytes before the payload; infinite if too few bytes have arrived
 * to determine it.
 */
function lengthOf(bytes: Buffer): [length: number, head: number] {
  const short = (bytes[1] ?? 0) & 127;
  if (bytes.length < 2 || bytes.length < (short === 126 ? 4 : short === 127 ? 10 : 2)) return [Infinity, 0];
  if (short === 126) return [bytes.readUInt16BE(2), 4];
  return short === 127 ? [Number(bytes.readBigUInt64BE(2)), 10] : [short, 2];
}
