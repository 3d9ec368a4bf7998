/** Strings written from bytes equal decoding and JSON.stringify, whether or not they are well-formed UTF-8. */
import t from 'tap';
import { writeUtf8String } from '../../../src/database/json/write-json-string.ts';

const out = Buffer.alloc(256);

function differs(bytes: Buffer): boolean {
  // Compared as bytes, because decoding would repair what was copied incorrectly.
  const written = out.subarray(5, writeUtf8String(bytes, 0, bytes.length, out, 5));
  return !written.equals(Buffer.from(JSON.stringify(bytes.toString('utf8'))));
}

t.test('every byte alone and between others is written as JSON.stringify does', async (t) => {
  for (let byte = 0; byte < 256; byte++) {
    if (differs(Buffer.from([byte])) || differs(Buffer.from([0x61, byte, 0x62]))) t.fail(`byte ${byte}`);
  }
  t.pass('all agree');
});

t.test('every first byte with the limits of its continuation bytes is written as JSON.stringify does', async (t) => {
  const edges = [0x00, 0x22, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
  let wrong = 0;
  for (let first = 0x80; first < 256; first++) {
    for (const second of edges) {
      for (const third of edges) {
        if (differs(Buffer.from([first, second, third]))) wrong++;
        for (const fourth of edges) if (differs(Buffer.from([0x5c, first, second, third, fourth]))) wrong++;
      }
    }
  }
  t.equal(wrong, 0);
});

t.test('every code point is written as JSON.stringify does', async (t) => {
  let wrong = 0;
  for (let point = 0; point < 0x110000; point += point > 0x3000 ? 61 : 1) {
    if ((point < 0xd800 || point > 0xdfff) && differs(Buffer.from(`a${String.fromCodePoint(point)}b`))) wrong++;
  }
  t.equal(wrong, 0);
});
