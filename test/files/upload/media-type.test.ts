/** The stored type of a file, for honest, careless and hostile uploads. */
import t from 'tap';
import { SNIFF_BYTES } from '../../../src/files/upload/detect-file-type.ts';
import { isInlineType, resolveMediaType, servedContentType } from '../../../src/files/upload/resolve-media-type.ts';

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
  [
    'text cut inside a character',
    'text/plain',
    Buffer.from(`a${'é'.repeat(SNIFF_BYTES)}`).subarray(0, SNIFF_BYTES),
    'text/plain',
  ],
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
  ['nonsense declared', 'image/png\r\nX-Evil: 1', PNG, 'image/png'],
  ['a word declared', 'png', PNG, 'image/png'],
  ['a name of the prototype declared', 'constructor', HTML, UNKNOWN],
];

for (const [name, declared, head, expected] of ROWS) {
  t.test(name, async (t) => {
    t.same(await resolveMediaType(declared, head), { type: expected, charset: null });
  });
}

const box = (brand: string) => Buffer.from(`\0\0\0\x18ftyp${brand}\0\0\0\0${brand}isom`, 'latin1');
const bytes = (text: string) => Buffer.from(text, 'latin1');

t.test('An unspecific declared type is replaced by the detected one.', async (t) => {
  const saysNothing = [undefined, '', 'application/octet-stream', 'Binary/Octet-Stream', '*/*', 'unknown/unknown'];
  for (const declared of [...saysNothing, 'image/*', 'image', 'application/x-binary']) {
    t.equal((await resolveMediaType(declared, PNG)).type, 'image/png', String(declared));
    t.equal((await resolveMediaType(declared, JPEG)).type, 'image/jpeg', String(declared));
  }
  for (const declared of saysNothing) {
    t.equal((await resolveMediaType(declared, PDF)).type, 'application/pdf', String(declared));
    t.equal((await resolveMediaType(declared, MP4)).type, 'video/mp4', String(declared));
    t.equal((await resolveMediaType(declared, ZIP)).type, 'application/zip', String(declared));
    t.not((await resolveMediaType(declared, HTML)).type, 'text/html', 'markup is never recognized as a page');
  }
  t.equal((await resolveMediaType('image/*', PDF)).type, UNKNOWN, 'a group that the bytes contradict');
  t.equal((await resolveMediaType('audio/*', box('mp42'))).type, 'audio/mp4', 'a container within a group');
  t.equal((await resolveMediaType(undefined, bytes('Hello'))).type, 'text/plain', 'text without a type (RFC 7578)');
  t.equal((await resolveMediaType('text/*', bytes('Hello'))).type, 'text/plain');
  t.equal((await resolveMediaType('application/octet-stream', bytes('Hello'))).type, UNKNOWN);
  t.equal((await resolveMediaType('application/octet-stream', Buffer.from([1, 2, 3]))).type, UNKNOWN);
});

t.test('A correct type is kept: containers, old video, audio without tags, raw photographs, aliases.', async (t) => {
  const frame = (second: number, third: number) => Buffer.from([0xff, second, third, 0xc4, 0, 0]);
  const tiff = bytes('II*\0\x08\0\0\0\0\0');
  const gzip = bytes('\x1f\x8b\x08\0\0\0\0\0\0\x03');
  const rows: readonly (readonly [string, Buffer, string?])[] = [
    ['video/3gpp', box('3gp4')],
    ['video/3gpp', box('isom')],
    ['audio/3gpp', box('3gp4')],
    ['video/x-m4v', box('M4V ')],
    ['audio/x-m4a', box('mp42')],
    ['audio/m4a', box('M4A '), 'audio/x-m4a'],
    ['audio/mp4', box('mp42')],
    ['video/quicktime', bytes('\0\0\x10\0moov\0\0\0lmvhd')],
    ['video/quicktime', bytes('\0\0\0\x08wide\0\0\0\0mdat')],
    ['video/quicktime', bytes('\0\0\x10\0mdat\0\0\0\0')],
    ['video/quicktime', bytes('\0\0\0\x08skip\0\0\0\0mdat')],
    ['audio/mpeg', frame(0xfb, 0x90)],
    ['audio/mpeg', frame(0xfa, 0x90)],
    ['audio/mp3', frame(0xe3, 0x18), 'audio/mpeg'],
    ['image/x-adobe-dng', tiff],
    ['image/x-nikon-nef', tiff],
    ['image/x-pentax-pef', tiff],
    ['image/x-canon-cr2', bytes('II*\0\x10\0\0\0CR\x02\0\0\0\0\0')],
    ['image/heic-sequence', box('hevc')],
    ['image/heif', box('mif1')],
    ['image/x-ms-bmp', bytes('BM\x36\0\0\0\0\0\0\0\x36\0\0\0'), 'image/bmp'],
    ['image/x-icon', bytes('\0\0\x01\0\x01\0\x10\x10\0\0')],
    ['image/vnd.microsoft.icon', bytes('\0\0\x01\0\x01\0\x10\x10\0\0')],
    ['font/woff', bytes('wOFF\0\x01\0\0')],
    ['application/font-woff', bytes('wOFFOTTO'), 'font/woff'],
    ['application/x-tgz', gzip],
    ['application/x-compressed-tar', gzip],
    ['application/gzip', gzip],
    ['video/avi', bytes('RIFF\x10\0\0\0AVI LIST'), 'video/x-msvideo'],
    ['audio/opus', bytes('OggS\0\x02\0\0')],
  ];
  for (const [declared, head, expected = declared] of rows)
    t.equal((await resolveMediaType(declared, head)).type, expected, declared);
  for (const type of ['audio/mpeg', 'image/x-nikon-nef', 'font/woff', 'video/3gpp']) {
    t.equal((await resolveMediaType(type, HTML)).type, UNKNOWN, `${type} must still be proven`);
  }
});

t.test('Text in UTF-16 and in older encodings keeps its type, and its encoding is detected.', async (t) => {
  const table = 'Größe;Preis\n1;2 €\n';
  const utf16be = Buffer.from(table, 'utf16le').swap16();
  const rows: readonly (readonly [string, Buffer, string | null])[] = [
    ['text/csv', Buffer.from(`\ufeff${table}`, 'utf16le'), 'utf-16le'],
    ['text/csv', Buffer.concat([Buffer.from([0xfe, 0xff]), utf16be]), 'utf-16be'],
    ['text/plain', Buffer.from(table, 'utf16le'), 'utf-16le'],
    ['text/plain', utf16be, 'utf-16be'],
    ['text/csv', bytes('Gr\xf6\xdfe;2 \x80\n'), 'windows-1252'],
    ['text/plain', bytes('BM\xf6bel'), 'windows-1252'],
    ['text/csv; charset=windows-1251', bytes('\xcf\xf0\xe8\xe2\xe5\xf2'), 'windows-1251'],
    ['text/csv; charset="Shift_JIS"', Buffer.from([0x93, 0xfa, 0x96, 0x7b]), 'shift_jis'],
    ['text/csv; charset=ISO-8859-1', Buffer.from(table), null],
    ['text/plain; charset=nonsense', bytes('Gr\xf6\xdfe'), 'windows-1252'],
  ];
  for (const [declared, head, charset] of rows) {
    const type = declared.split(';')[0];
    t.same(await resolveMediaType(declared, head), { type, charset }, `${declared} ${charset}`);
  }
  for (const head of [JPEG, PDF, ZIP, MP4, bytes('\x90\x81text'), Buffer.from([0xff, 0xfe, 0, 0, 65, 0, 0, 0])]) {
    t.equal((await resolveMediaType('text/csv', head)).type, UNKNOWN, 'bytes that are no text');
  }
});

t.test('A polyglot of GIF and script is a GIF, and as a script only a download.', async (t) => {
  const polyglot = Buffer.from('GIF89a/*\0\0*/=1;alert(1)', 'latin1');
  t.equal((await resolveMediaType('image/gif', polyglot)).type, 'image/gif');
  t.equal((await resolveMediaType('text/javascript', polyglot)).type, UNKNOWN);
});

t.test('Browsers show ten types inline, and none in which scripts run.', async (t) => {
  for (const type of ['png', 'jpeg', 'gif', 'webp', 'avif']) t.ok(isInlineType(`image/${type}`));
  for (const type of ['application/pdf', 'video/mp4', 'video/webm', 'audio/mpeg', 'text/plain'])
    t.ok(isInlineType(type));
  for (const type of ['text/html', 'image/svg+xml', 'text/xml', 'application/xhtml+xml', 'text/css', UNKNOWN]) {
    t.notOk(isInlineType(type), type);
  }
});

t.test('Text is served with its encoding, other types unchanged.', async (t) => {
  const served = (type: string, charset: string | null = null) => servedContentType({ type, charset });
  t.equal(served('text/plain'), 'text/plain; charset=utf-8');
  t.equal(served('text/csv', 'windows-1252'), 'text/csv; charset=windows-1252');
  t.equal(served('image/png'), 'image/png');
  for (const type of ['text/javascript', 'application/javascript', 'application/x-javascript', 'text/jscript']) {
    t.equal(served(type), 'text/plain; charset=utf-8', 'a script is only text');
  }
  t.ok(SNIFF_BYTES >= 64);
});
