/**
 * `crypto` inside an isolate: SHA-256, and random bytes derived from a seed that the host gives each context. Sent to the isolate as
 * text, so it references nothing outside itself.
 */
import type { EncodingUtils } from './encodings.ts';

export interface CryptoUtils {
  readonly globals: Readonly<Record<string, unknown>>;
  /** Sets the seed of the context, 32 random bytes as base64. Required for random values. */
  readonly seed: (base64: string) => void;
  /** HMAC-SHA-256 of bytes. */
  readonly hmac: (key: Uint8Array, bytes: Uint8Array) => Uint8Array;
}

/** Runs in an isolate, before any author code. */
export function makeCryptoUtils(encodings: EncodingUtils): CryptoUtils {
  const Bytes = Uint8Array;
  const Words = Uint32Array;
  const { freeze } = Object;
  const { isView } = ArrayBuffer;
  const { utf8, bytesOf, fromBase64 } = encodings;
  const MAX_RANDOM_BYTES = 65_536;

  /** The first 32 bits of the fractional parts of the square and cube roots of the first primes (FIPS 180-4). */
  const START = new Words(8);
  const ROUNDS = new Words(64);
  for (let prime = 2, count = 0; count < 64; prime += 1) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= prime; divisor += 1) if (prime % divisor === 0) isPrime = false;
    if (!isPrime) continue;
    if (count < 8) START[count] = (prime ** (1 / 2) % 1) * 2 ** 32;
    ROUNDS[count] = (prime ** (1 / 3) % 1) * 2 ** 32;
    count += 1;
  }

  const rotate = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

  const sha256 = (given: Uint8Array): Uint8Array<ArrayBuffer> => {
    const length = (Math.floor((given.length + 8) / 64) + 1) * 64;
    const padded = new Bytes(length);
    for (let index = 0; index < given.length; index += 1) padded[index] = given[index] ?? 0;
    padded[given.length] = 128;
    const bits = given.length * 8;
    for (let index = 0; index < 8; index += 1) padded[length - 1 - index] = Math.floor(bits / 2 ** (8 * index)) & 255;
    const state = new Words(8);
    for (let index = 0; index < 8; index += 1) state[index] = START[index] ?? 0;
    const w = new Words(64);
    for (let block = 0; block < length; block += 64) {
      for (let index = 0; index < 16; index += 1) {
        const at = block + index * 4;
        w[index] =
          ((padded[at] ?? 0) << 24) |
          ((padded[at + 1] ?? 0) << 16) |
          ((padded[at + 2] ?? 0) << 8) |
          (padded[at + 3] ?? 0);
      }
      for (let index = 16; index < 64; index += 1) {
        const [x, y] = [w[index - 15] ?? 0, w[index - 2] ?? 0];
        const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
        const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
        w[index] = (w[index - 16] ?? 0) + s0 + (w[index - 7] ?? 0) + s1;
      }
      let a = state[0] ?? 0;
      let b = state[1] ?? 0;
      let c = state[2] ?? 0;
      let d = state[3] ?? 0;
      let e = state[4] ?? 0;
      let f = state[5] ?? 0;
      let g = state[6] ?? 0;
      let h = state[7] ?? 0;
      for (let index = 0; index < 64; index += 1) {
        const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        const first = (h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[index] ?? 0) + (w[index] ?? 0)) | 0;
        const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
        h = g;
        g = f;
        f = e;
        e = (d + first) | 0;
        d = c;
        c = b;
        b = a;
        a = (first + second) | 0;
      }
      const added = [a, b, c, d, e, f, g, h];
      for (let index = 0; index < 8; index += 1) state[index] = (state[index] ?? 0) + (added[index] ?? 0);
    }
    const digest = new Bytes(32);
    for (let index = 0; index < 32; index += 1) {
      digest[index] = (state[index >> 2] ?? 0) >>> (24 - 8 * (index & 3));
    }
    return digest;
  };

  const BLOCK = 64;
  /** The digest of the key XOR one repeated byte, followed by bytes. */
  const keyed = (key: Uint8Array, pad: number, bytes: Uint8Array): Uint8Array => {
    const all = new Bytes(BLOCK + bytes.length);
    for (let index = 0; index < BLOCK; index += 1) all[index] = (key[index] ?? 0) ^ pad;
    for (let index = 0; index < bytes.length; index += 1) all[BLOCK + index] = bytes[index] ?? 0;
    return sha256(all);
  };
  const hmac = (given: Uint8Array, bytes: Uint8Array): Uint8Array => {
    const key = given.length > BLOCK ? sha256(given) : given;
    return keyed(key, 0x5c, keyed(key, 0x36, bytes));
  };

  /** Decoded on first use: most calls need no random values. */
  let seed = '';
  let key: Uint8Array | null = null;
  let created = 0;
  /** The next 32 random bytes: the digest of the seed and a counter. */
  const nextBlock = (): Uint8Array => {
    if (seed === '') throw new TypeError('Random values have no seed yet');
    key ??= fromBase64(seed);
    const block = new Bytes(40);
    for (let index = 0; index < 32; index += 1) block[index] = key[index] ?? 0;
    for (let index = 0; index < 6; index += 1) block[32 + index] = Math.floor(created / 2 ** (8 * index)) & 255;
    created += 1;
    return sha256(block);
  };

  const fill = (bytes: Uint8Array): void => {
    for (let from = 0; from < bytes.length; from += 32) {
      const block = nextBlock();
      for (let index = 0; index < 32 && from + index < bytes.length; index += 1)
        bytes[from + index] = block[index] ?? 0;
    }
  };

  const getRandomValues = (given: unknown): unknown => {
    if (!isView(given)) throw new TypeError('getRandomValues fills a typed array of integers');
    if (given.byteLength > MAX_RANDOM_BYTES) throw new RangeError('getRandomValues fills at most 65536 bytes');
    fill(bytesOf(given));
    return given;
  };

  const randomUUID = (): string => {
    const bytes = new Bytes(16);
    fill(bytes);
    bytes[6] = ((bytes[6] ?? 0) & 15) | 64;
    bytes[8] = ((bytes[8] ?? 0) & 63) | 128;
    let text = '';
    for (let index = 0; index < 16; index += 1) {
      if (index === 4 || index === 6 || index === 8 || index === 10) text += '-';
      const byte = bytes[index] ?? 0;
      text += '0123456789abcdef'[byte >> 4];
      text += '0123456789abcdef'[byte & 15];
    }
    return text;
  };

  const digest = async (algorithm: unknown, given: unknown): Promise<ArrayBuffer> => {
    const name =
      typeof algorithm === 'object' && algorithm !== null && 'name' in algorithm ? algorithm.name : algorithm;
    if (`${name}` !== 'SHA-256') throw new TypeError('Only SHA-256 is supported');
    return sha256(typeof given === 'string' ? utf8(given) : bytesOf(given)).buffer;
  };

  const crypto = freeze({ getRandomValues, randomUUID, subtle: freeze({ digest }) });
  return {
    globals: { crypto },
    hmac,
    seed: (base64) => {
      seed = base64;
      key = null;
    },
  };
}
