/** Text and bytes inside an isolate: UTF-8 and base64. Sent to the isolate as text, so it references nothing outside itself. */

export interface EncodingUtils {
  readonly utf8: (text: string) => Uint8Array;
  /** Malformed bytes become U+FFFD. */
  readonly text: (bytes: Uint8Array, fatal?: boolean) => string;
  readonly toBase64: (bytes: Uint8Array) => string;
  /** @throws TypeError for invalid base64 */
  readonly fromBase64: (text: string) => Uint8Array<ArrayBuffer>;
  /** A view or a buffer given by the code, as a Uint8Array on the same memory. */
  readonly bytesOf: (value: unknown) => Uint8Array;
  readonly globals: Readonly<Record<string, unknown>>;
}

/** Runs in an isolate, before any author code. */
export function makeEncodingUtils(): EncodingUtils {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const codeAt = uncurry(String.prototype.charCodeAt);
  const slice = uncurry(String.prototype.slice);
  const replace = uncurry(String.prototype.replace as (this: string, what: RegExp, by: string) => string);
  const part = uncurry(Uint8Array.prototype.subarray as (this: Uint8Array, from: number, to: number) => Uint8Array);
  const { fromCharCode } = String;
  const { isView } = ArrayBuffer;
  const { apply } = Reflect;
  const Bytes = Uint8Array;
  const Buffers = ArrayBuffer;
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const VALUES = new Bytes(128).fill(255);
  for (let index = 0; index < 64; index += 1) VALUES[codeAt(ALPHABET, index)] = index;
  const CHUNK = 8_192;

  const utf8 = (text: string): Uint8Array => {
    const bytes = new Bytes(text.length * 3);
    let end = 0;
    for (let index = 0; index < text.length; index += 1) {
      let code = codeAt(text, index);
      if (code >= 0xd800 && code < 0xe000) {
        const low = code < 0xdc00 && index + 1 < text.length ? codeAt(text, index + 1) : 0;
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          index += 1;
        } else code = 0xfffd;
      }
      if (code < 0x80) bytes[end++] = code;
      else if (code < 0x800) {
        bytes[end++] = 0xc0 | (code >> 6);
        bytes[end++] = 0x80 | (code & 63);
      } else {
        if (code < 0x10000) bytes[end++] = 0xe0 | (code >> 12);
        else {
          bytes[end++] = 0xf0 | (code >> 18);
          bytes[end++] = 0x80 | ((code >> 12) & 63);
        }
        bytes[end++] = 0x80 | ((code >> 6) & 63);
        bytes[end++] = 0x80 | (code & 63);
      }
    }
    const exact = new Bytes(end);
    for (let index = 0; index < end; index += 1) exact[index] = bytes[index] ?? 0;
    return exact;
  };

  const characters = (bytes: Uint8Array | Uint16Array, length: number): string => {
    let text = '';
    for (let from = 0; from < length; from += CHUNK) {
      const to = from + CHUNK < length ? from + CHUNK : length;
      const codes: number[] = [];
      for (let index = from; index < to; index += 1) codes[index - from] = bytes[index] ?? 0;
      text += apply(fromCharCode, null, codes);
    }
    return text;
  };

  /** The number of bytes that follow a first byte, and the least code point that this length may encode. */
  const following = (first: number): readonly [number, number] => {
    if (first >= 0xc2 && first < 0xe0) return [1, 0x80];
    if (first >= 0xe0 && first < 0xf0) return [2, 0x800];
    return first >= 0xf0 && first < 0xf5 ? [3, 0x10000] : [0, 0];
  };

  const text = (bytes: Uint8Array, fatal = false): string => {
    const units = new Uint16Array(bytes.length);
    let end = 0;
    for (let index = 0; index < bytes.length; ) {
      const first = bytes[index++] ?? 0;
      if (first < 0x80) {
        units[end++] = first;
        continue;
      }
      const [count, least] = following(first);
      let code = count === 1 ? first & 31 : count === 2 ? first & 15 : first & 7;
      let taken = 0;
      while (taken < count) {
        const next = bytes[index] ?? 0;
        if ((next & 0xc0) !== 0x80) break;
        const [low, high] = [(code << 6) | (next & 63), count - taken - 1];
        const lowest = low << (6 * high);
        // Bytes that can no longer become a valid code point end here, as in the standard's decoder.
        if (taken === 0 && (lowest + (1 << (6 * high)) <= least || (lowest >= 0xd800 && lowest < 0xe000))) break;
        if (lowest > 0x10ffff) break;
        code = low;
        index += 1;
        taken += 1;
      }
      if (count === 0 || taken < count) {
        if (fatal) throw new TypeError('The encoded text is not valid UTF-8');
        units[end++] = 0xfffd;
      } else if (code >= 0x10000) {
        units[end++] = 0xd800 + ((code - 0x10000) >> 10);
        units[end++] = 0xdc00 + ((code - 0x10000) & 0x3ff);
      } else units[end++] = code;
    }
    return characters(units, end);
  };

  const toBase64 = (bytes: Uint8Array): string => {
    const codes = new Bytes(Math.ceil(bytes.length / 3) * 4);
    let end = 0;
    for (let index = 0; index < bytes.length; index += 3) {
      const left = bytes.length - index;
      const bits = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
      codes[end++] = codeAt(ALPHABET, bits >> 18);
      codes[end++] = codeAt(ALPHABET, (bits >> 12) & 63);
      codes[end++] = left > 1 ? codeAt(ALPHABET, (bits >> 6) & 63) : 61;
      codes[end++] = left > 2 ? codeAt(ALPHABET, bits & 63) : 61;
    }
    return characters(codes, end);
  };

  const fromBase64 = (given: string): Uint8Array<ArrayBuffer> => {
    const packed = replace(given, /[\t\n\f\r ]/g, '');
    const bare = packed.length % 4 === 0 ? replace(packed, /={1,2}$/, '') : packed;
    if (bare.length % 4 === 1) throw new TypeError('The text is not valid base64');
    const bytes = new Bytes(Math.floor((bare.length * 3) / 4));
    let end = 0;
    let bits = 0;
    for (let index = 0; index < bare.length; index += 1) {
      const code = codeAt(bare, index);
      const value = code < 128 ? (VALUES[code] ?? 255) : 255;
      if (value === 255) throw new TypeError('The text is not valid base64');
      bits = (bits << 6) | value;
      if (index % 4 === 0) continue;
      bytes[end++] = (bits >> (6 - 2 * (index % 4))) & 255;
    }
    return bytes;
  };

  const bytesOf = (value: unknown): Uint8Array => {
    if (isView(value)) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
    if (value instanceof Buffers) return new Bytes(value);
    throw new TypeError('Bytes are expected: a Uint8Array or an ArrayBuffer');
  };

  class TextEncoder {
    readonly encoding = 'utf-8';
    encode(given: unknown = ''): Uint8Array {
      return utf8(`${given}`);
    }
  }

  class TextDecoder {
    readonly encoding = 'utf-8';
    readonly fatal: boolean;
    readonly ignoreBOM: boolean;
    constructor(label: unknown = 'utf-8', options: { fatal?: boolean; ignoreBOM?: boolean } = {}) {
      const name = `${label}`.trim().toLowerCase();
      if (name !== 'utf-8' && name !== 'utf8') throw new RangeError('Only UTF-8 can be decoded');
      this.fatal = options.fatal === true;
      this.ignoreBOM = options.ignoreBOM === true;
    }
    decode(given?: unknown): string {
      const bytes = given === undefined ? new Bytes(0) : bytesOf(given);
      const marked = !this.ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
      return text(marked ? part(bytes, 3, bytes.length) : bytes, this.fatal);
    }
  }

  const btoa = (given: unknown): string => {
    const source = `${given}`;
    const bytes = new Bytes(source.length);
    for (let index = 0; index < source.length; index += 1) {
      const code = codeAt(source, index);
      if (code > 255) throw new TypeError('btoa supports characters up to U+00FF only');
      bytes[index] = code;
    }
    return toBase64(bytes);
  };

  const atob = (given: unknown): string => {
    const bytes = fromBase64(slice(`${given}`, 0));
    return characters(bytes, bytes.length);
  };

  return { utf8, text, toBase64, fromBase64, bytesOf, globals: { TextEncoder, TextDecoder, atob, btoa } };
}
