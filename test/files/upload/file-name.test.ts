/** Hostile names, and names in headers and URLs. */
import t from 'tap';
import { contentDisposition, encodeNameForPath, sanitizeFileName } from '../../../src/files/upload/file-name.ts';

const NAMES: readonly (readonly [string, string | undefined, string])[] = [
  ['an ordinary name', 'photo.png', 'photo.png'],
  ['blanks and signs inside', 'my "best" photo (1).png', 'my "best" photo (1).png'],
  ['another script', 'Привет 世界.pdf', 'Привет 世界.pdf'],
  ['no name', undefined, 'file'],
  ['an empty name', '', 'file'],
  ['only blanks', '   ', 'file'],
  ['a dot', '.', 'file'],
  ['two dots', '..', 'file'],
  ['a path that climbs', '../../etc/passwd', 'passwd'],
  ['a path of Windows', 'C:\\Users\\me\\secret.txt', 'secret.txt'],
  ['a path that ends in a slash', 'folder/', 'file'],
  ['an absolute path', '/etc/shadow', 'shadow'],
  ['a header in the name', 'a\r\nSet-Cookie: x=1', 'aSet-Cookie: x=1'],
  ['NUL', 'a.png\0.html', 'a.png.html'],
  ['text turned around', 'photo\u202egnp.exe', 'photognp.exe'],
  ['a byte order mark', '\ufeffa.txt', 'a.txt'],
  ['a lone surrogate', 'a\ud800.txt', 'a\ufffd.txt'],
  ['composed and decomposed are one', 'e\u0301.txt', '\u00e9.txt'],
  ['a hidden file keeps its dot', '.gitignore', '.gitignore'],
];

for (const [name, given, expected] of NAMES) {
  t.test(name, async (t) => {
    t.equal(sanitizeFileName(given), expected);
  });
}

t.test('A long name is truncated at a character and keeps its extension.', async (t) => {
  const name = sanitizeFileName(`${'é'.repeat(400)}.jpeg`);
  t.ok(Buffer.byteLength(name) <= 255);
  t.match(name, /^é+\.jpeg$/);
  t.equal(Buffer.byteLength(sanitizeFileName('😀'.repeat(200))), 252);
});

t.test('Cleaning a name is idempotent.', async (t) => {
  const more = ['e\u202e\u0301.txt', `${'a'.repeat(254)} b`, `${'a'.repeat(250)} ${'b'.repeat(9)}.png`];
  for (const given of [...NAMES.map(([, name]) => name), ...more]) {
    t.equal(sanitizeFileName(sanitizeFileName(given)), sanitizeFileName(given), String(given));
  }
});

t.test('Every reserved character is escaped in a path.', async (t) => {
  t.equal(encodeNameForPath('a b/c?d#e%f&g.png'), 'a%20b%2Fc%3Fd%23e%25f%26g.png');
  t.equal(encodeNameForPath("(it's)!*"), '%28it%27s%29%21%2A');
  t.equal(new URL(`http://x/files/1/${encodeNameForPath('é\\世 "')}`).pathname, '/files/1/%C3%A9%5C%E4%B8%96%20%22');
});

const DISPOSITIONS: readonly (readonly [string, string])[] = [
  ['plain.txt', 'attachment; filename="plain.txt"'],
  ['two words.txt', 'attachment; filename="two words.txt"'],
  ['a"b\\c.txt', `attachment; filename="a_b_c.txt"; filename*=UTF-8''a%22b%5Cc.txt`],
  ['100%41.txt', `attachment; filename="100_41.txt"; filename*=UTF-8''100%2541.txt`],
  ['€ rates.txt', `attachment; filename="_ rates.txt"; filename*=UTF-8''%E2%82%AC%20rates.txt`],
  [
    "naïve 'file' (1)*.txt",
    `attachment; filename="na_ve 'file' (1)*.txt"; filename*=UTF-8''na%C3%AFve%20%27file%27%20%281%29%2A.txt`,
  ],
  ['😀.png', `attachment; filename="_.png"; filename*=UTF-8''%F0%9F%98%80.png`],
];

for (const [name, expected] of DISPOSITIONS) {
  t.test(`Content-Disposition of ${name}`, async (t) => {
    t.equal(contentDisposition('attachment', name), expected);
  });
}

t.test('An inline response says so.', async (t) => {
  t.equal(contentDisposition('inline', 'a.png'), 'inline; filename="a.png"');
});
