/** Reports about uploads: forms, types and names. */
import { deepEqual, equal, match } from 'node:assert/strict';
import type { Product, Reply, Report } from './report.ts';

interface PartOfForm {
  readonly head: string;
  readonly bytes: Buffer;
}

function file(bytes: Buffer | string, name = 'filename="a.txt"', type: string | null = 'text/plain', field = 'file') {
  const line = type === null ? '' : `\r\nContent-Type: ${type}`;
  const head = `Content-Disposition: form-data; name="${field}"; ${name}${line}`;
  return { head, bytes: typeof bytes === 'string' ? Buffer.from(bytes) : bytes };
}

function text(field: string, value: string): PartOfForm {
  return { head: `Content-Disposition: form-data; name="${field}"`, bytes: Buffer.from(value) };
}

/** Sends a form byte by byte as given. */
async function send(
  product: Product,
  parts: readonly PartOfForm[],
  path = '/files',
  more: Record<string, string> = {},
): Promise<Pick<Reply, 'status' | 'body'>> {
  const chunks = parts.flatMap(({ head, bytes }) => [
    Buffer.from(`--x\r\n${head}\r\n\r\n`),
    bytes,
    Buffer.from('\r\n'),
  ]);
  const response = await fetch(product.url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${product.admin}`,
      'content-type': 'multipart/form-data; boundary=x',
      ...more,
    },
    body: new Uint8Array(Buffer.concat([...chunks, Buffer.from('--x--\r\n')])),
  });
  return { status: response.status, body: await response.json() };
}

const NO_FILE = file('', 'filename=""', 'application/octet-stream');
const latin = (value: string) => Buffer.from(value, 'latin1');

export const reports: readonly Report[] = [
  {
    point: 'C1',
    title: 'An empty file input is skipped beside files, and alone it is refused',
    async run(product) {
      const alone = await send(product, [NO_FILE, text('title', 'x')]);
      deepEqual([alone.status, alone.body.detail], [400, 'No file was chosen']);
      equal((await send(product, [NO_FILE, file('hello')])).body.name, 'a.txt');
      equal((await send(product, [file('hello'), NO_FILE])).body.name, 'a.txt');
      const second = { ...NO_FILE, head: NO_FILE.head.replace('name="file"', 'name="second"') };
      equal((await send(product, [second, file('hello')])).status, 200);
      const several = [file('1'), NO_FILE, file('2')].map(({ head, bytes }) => ({
        head: head.replace('"file"', '"files"'),
        bytes,
      }));
      equal((await send(product, several, '/files/bulk')).body.length, 2);
      equal((await send(product, [NO_FILE], '/files/bulk')).status, 400);
    },
  },
  {
    point: 'C2',
    title: 'The type of a file comes from its bytes where the declared one says nothing, and real types are kept',
    async run(product) {
      const png = latin('\x89PNG\r\n\x1a\n\0\0\0\rIHDR');
      for (const declared of [null, 'application/octet-stream', 'binary/octet-stream', 'image/*']) {
        const { body } = await send(product, [file(png, 'filename="a.png"', declared)]);
        equal(body.type, 'image/png', String(declared));
        const { headers } = await product.call('GET', new URL(body.url).pathname);
        match(headers.get('content-disposition') ?? '', /^inline/);
      }
      const box = (brand: string) => latin(`\0\0\0\x18ftyp${brand}\0\0\0\0${brand}isom`);
      const rows: readonly (readonly [string, Buffer])[] = [
        ['video/3gpp', box('3gp4')],
        ['video/x-m4v', box('M4V ')],
        ['audio/x-m4a', box('mp42')],
        ['video/quicktime', latin('\0\0\x10\0moov\0\0\0lmvhd')],
        ['audio/mpeg', latin('\xff\xfa\x90\x64\0\0')],
        ['audio/mpeg', latin('\xff\xe3\x18\xc4\0\0')],
        ['image/x-adobe-dng', latin('II*\0\x08\0\0\0\0\0')],
        ['image/x-nikon-nef', latin('MM\0*\0\0\0\x08\0\0')],
        ['image/heic-sequence', box('hevc')],
        ['font/woff', latin('wOFF\0\x01\0\0')],
        ['application/x-tgz', latin('\x1f\x8b\x08\0\0\0\0\0\0\x03')],
        ['text/csv', Buffer.from('\ufeffa;ä', 'utf16le')],
        ['text/plain', latin('Gr\xf6\xdfe')],
      ];
      for (const [type, bytes] of rows) equal((await send(product, [file(bytes, undefined, type)])).body.type, type);
      equal((await send(product, [file('<p>', undefined, 'image/png')])).body.type, 'application/octet-stream');
    },
  },
  {
    point: 'C3',
    title: 'Forms of upload libraries are taken, and a chunk of a file is refused with the way to switch chunking off',
    async run(product) {
      const taken = [
        [text('file', '{}'), file('hello')],
        [text('relativePath', 'null'), text('name', 'a.txt'), text('type', 'text/plain'), file('hello')],
        [text('name', 'a.txt'), text('chunk', '0'), text('chunks', '1'), file('hello')],
        [text('dzuuid', 'x'), text('dztotalchunkcount', '1'), file('hello')],
        [file('hello'), text('submit', 'Upload')],
      ];
      for (const parts of taken) equal((await send(product, parts)).status, 200);
      const chunks = [
        [text('name', 'a.txt'), text('chunk', '0'), text('chunks', '2'), file('hello', 'filename="blob"')],
        [text('dzchunkindex', '1'), text('dztotalchunkcount', '3'), file('hello')],
        [file('hello'), text('flowTotalChunks', '2')],
      ];
      for (const parts of chunks) {
        const { status, body } = await send(product, parts);
        equal(status, 400);
        match(body.hint, /disable chunking/);
      }
      const range = { 'content-range': 'bytes 0-4/500' };
      match((await send(product, [file('hello')], '/files', range)).body.hint, /maxChunkSize/);
    },
  },
  {
    point: 'C4',
    title: 'filename* comes before filename, and %22 in a name is a quotation mark',
    async run(product) {
      const rows = [
        [`filename="a.txt"; filename*=UTF-8''%C3%A4.txt`, 'ä.txt'],
        [`filename*=UTF-8''%C3%A4.txt; filename="a.txt"`, 'ä.txt'],
        ['filename="a%22b.txt"', 'a"b.txt'],
        [`filename="b.txt"; filename*=UTF-8''%E4.txt`, 'b.txt'],
      ];
      for (const [name, expected] of rows) equal((await send(product, [file('x', name)])).body.name, expected);
    },
  },
];
