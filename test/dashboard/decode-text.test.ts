/** Imports of the dashboard: the text of a file in each encoding that spreadsheets write. */
import t from 'tap';
import { decodeText } from '../../dashboard/src/pages/data/transfer/decode-text.ts';

const TEXT = 'name;Straße\nZoë;“Größe” €\n';
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const bigEndian = (text: string) => Buffer.from(text, 'utf16le').swap16();
/** The bytes of Windows-1252 that differ from Latin-1 in this text. */
const windows1252 = Buffer.from(TEXT.replace('“', '\x93').replace('”', '\x94').replace('€', '\x80'), 'latin1');

t.test('a chosen file is decoded by its bytes', async (t) => {
  const cases: readonly (readonly [Uint8Array, string])[] = [
    [Buffer.from(TEXT), 'UTF-8'],
    [Buffer.from(`\uFEFF${TEXT}`), 'UTF-8'],
    [utf16(`\uFEFF${TEXT}`), 'UTF-16LE'],
    [bigEndian(`\uFEFF${TEXT}`), 'UTF-16BE'],
    [utf16(TEXT), 'UTF-16LE'],
    [bigEndian(TEXT), 'UTF-16BE'],
    [windows1252, 'Windows-1252'],
  ];
  for (const [bytes, encoding] of cases) t.strictSame(decodeText(bytes), { text: TEXT, encoding });
  const long = `${'x'.repeat(4_099)}ß`;
  t.strictSame(decodeText(Buffer.from(long)), { text: long, encoding: 'UTF-8' }, 'all of the file is looked at');
  t.strictSame(decodeText(new Uint8Array()), { text: '', encoding: 'UTF-8' });
});

t.test('a file that is not text is refused', async (t) => {
  const pictures = [
    Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'),
    Buffer.from('PK\x03\x04\x14\0\x06\0', 'latin1'),
  ];
  for (const bytes of [...pictures, Buffer.from('a;b\n1;\0\n'), Buffer.from([0x80, 0x01, 0x02])])
    t.throws(() => decodeText(bytes), {
      message: 'The file is not text: it contains bytes that are not valid in text',
    });
});
