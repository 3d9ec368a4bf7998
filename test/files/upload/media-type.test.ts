/** Which type a file is kept under, for honest, careless and hostile uploads. */
import t from 'tap';
import { agreedType, isInline, SNIFF_BYTES, servedType } from '../../../src/files/upload/media-type.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
const JPEG = Buffer.from('\xff\xd8\xff\xe0\0\x10JFIF', 'latin1');
const HTML = Buffer.from('<!doctype html><script>alert(1)</script>');
const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
const PDF = Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1');
const MP4 = Buffer.from('\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41', 'latin1');
const WEBM = Buffer.from('\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm', 'latin1');
const ZIP = Buffer.from('PK\x03\x04\x14\0\0\0', 'latin1');
const UNKNOWN = 'application/octet-stream';

const ROWS: readonly (readonly [string, string | undefined, Buffer, string])[] = [
  ['a png', 'image/png', PNG, 'image/png'],
  ['a jpeg', 'image/jpeg', JPEG, 'image/jpeg'],
  ['a jpeg under its other name', 'image/jpg', JPEG, 'image/jpeg'],
  ['a gif', 'image/gif', Buffer.from('GIF89a...'), 'image/gif'],
  ['a webp', 'image/webp', Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1'), 'image/webp'],
  ['an avif', 'image/avif', Buffer.from('\0\0\0\x1cftypavif', 'latin1'), 'image/avif'],
  ['a pdf', 'application/pdf', PDF, 'application/pdf'],
  ['an mp4', 'video/mp4', MP4, 'video/mp4'],
  ['a webm', 'video/webm', WEBM, 'video/webm'],
  ['an mp3 with a tag', 'audio/mpeg', Buffer.from('ID3\x04\0'), 'audio/mpeg'],
  ['an mp3 without', 'audio/mpeg', Buffer.from([0xff, 0xfb, 0x90, 0x64]), 'audio/mpeg'],
  ['text', 'text/plain', Buffer.from('Hello, Wörld'), 'text/plain'],
  ['text with parameters', 'Text/Plain; charset=UTF-8', Buffer.from('Hello'), 'text/plain'],
  ['text that begins like a bitmap', 'text/plain', Buffer.from('BMW is a car'), 'text/plain'],
  ['text cut inside a character', 'text/plain', Buffer.from('aé').subarray(0, 2), 'text/plain'],
  ['json', 'application/json', Buffer.from('{"a":1}'), 'application/json'],
  ['html that says so', 'text/html', HTML, 'text/html'],
  ['svg that says so', 'image/svg+xml', SVG, 'image/svg+xml'],
  ['a type we know no mark of', 'model/gltf-binary', Buffer.from('glTF\x02\0\0\0'), 'model/gltf-binary'],
  ['an office document', 'application/vnd.oasis.opendocument.text', ZIP, 'application/vnd.oasis.opendocument.text'],
  ['an empty text', 'text/plain', Buffer.alloc(0), 'text/plain'],
  ['an empty png is none', 'image/png', Buffer.alloc(0), UNKNOWN],
  ['html named png', 'image/png', HTML, UNKNOWN],
  ['svg named png', 'image/png', SVG, UNKNOWN],
  ['a png named html', 'text/html', PNG, UNKNOWN],
  ['a png named jpeg', 'image/jpeg', PNG, UNKNOWN],
  ['a zip named text', 'text/plain', ZIP, UNKNOWN],
  ['a pdf that starts later', 'application/pdf', Buffer.concat([HTML, PDF]), UNKNOWN],
  ['a png declared as a type without a mark', 'application/x-thing', PNG, UNKNOWN],
  ['text that is not UTF-8', 'text/plain', Buffer.from('W\xf6rld', 'latin1'), UNKNOWN],
  ['nothing declared', undefined, PNG, UNKNOWN],
  ['nonsense declared', 'image/png\r\nX-Evil: 1', PNG, UNKNOWN],
  ['a word declared', 'png', PNG, UNKNOWN],
  ['a name of the prototype declared', 'constructor', PNG, UNKNOWN],
];

for (const [name, declared, head, expected] of ROWS) {
  t.test(name, async (t) => {
    t.equal(agreedType(declared, head), expected);
  });
}

t.test('a polyglot of gif and script is a gif, and as script only a download', async (t) => {
  const polyglot = Buffer.from('GIF89a/*\0\0*/=1;alert(1)', 'latin1');
  t.equal(agreedType('image/gif', polyglot), 'image/gif');
  t.equal(agreedType('text/javascript', polyglot), UNKNOWN);
});

t.test('browsers show ten types in place, and none in which scripts run', async (t) => {
  for (const type of ['png', 'jpeg', 'gif', 'webp', 'avif']) t.ok(isInline(`image/${type}`));
  for (const type of ['application/pdf', 'video/mp4', 'video/webm', 'audio/mpeg', 'text/plain']) t.ok(isInline(type));
  for (const type of ['text/html', 'image/svg+xml', 'text/xml', 'application/xhtml+xml', 'text/css', UNKNOWN]) {
    t.notOk(isInline(type), type);
  }
});

t.test('text is served with its encoding, others as they are', async (t) => {
  t.equal(servedType('text/plain'), 'text/plain; charset=utf-8');
  t.equal(servedType('image/png'), 'image/png');
  for (const type of ['text/javascript', 'application/javascript', 'application/x-javascript', 'text/jscript']) {
    t.equal(servedType(type), 'text/plain; charset=utf-8', 'a script is only text');
  }
  t.ok(SNIFF_BYTES >= 64);
});
