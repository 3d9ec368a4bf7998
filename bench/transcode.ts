/**
 * Lists from BSON to JSON text: the transcoder compared with the driver's deserializer followed by `toWire` and
 * JSON.stringify. Run: `node bench/transcode.ts`. It measures no database and no socket.
 */
import { readFileSync } from 'node:fs';
import { BSON, type Document, ObjectId } from 'mongodb';
import { JsonListEncoder, parseStrictJson, toWireDocument } from '../src/database/json/json.ts';
import { compare, machine } from './rounds.ts';

const MOVIES = new URL('../node_modules/vega-datasets/data/movies.json', import.meta.url);

const meta = (n: number): Document => ({
  revision: 1 + (n % 5),
  createdAt: new Date(1.7e12 + n * 1000),
  updatedAt: new Date(1.71e12 + n * 1000),
  createdBy: 'user-1',
  updatedBy: null,
  by: 'user:user-1',
  request: `req-${n}`,
});

/** Documents of about 1 KB, as a small business would store them. */
function order(n: number): Document {
  return {
    _id: new ObjectId(),
    number: `2024-${String(n).padStart(6, '0')}`,
    customer: { name: 'Zoë Müller', email: `customer${n}@example.com`, vip: n % 7 === 0, since: new Date(1.6e12 + n) },
    address: { street: 'Hauptstraße 12', city: 'Köln', postcode: '50667', location: [50.938 + n / 1e4, 6.96] },
    lines: Array.from({ length: 4 }, (_, line) => ({
      sku: `SKU-${n}-${line}`,
      title: 'A sturdy thing with a "name" of some length',
      quantity: line + 1,
      price: 19.99 + line,
      tags: ['new', 'blue'],
    })),
    total: 123.45 + n,
    paid: true,
    note: n % 3 === 0 ? null : 'Please ring twice.\nThe bell is quiet.',
    _meta: meta(n),
  };
}

function movies(): Document[] {
  const rows: unknown = JSON.parse(readFileSync(MOVIES, 'utf8'));
  if (!Array.isArray(rows)) throw new Error('movies.json holds no list');
  return rows.map((row: Document, n) => ({ _id: new ObjectId(), ...row, _meta: meta(n) }));
}

function viaObjects(list: readonly Uint8Array[]): Buffer {
  return Buffer.from(JSON.stringify(list.map((raw) => toWireDocument(BSON.deserialize(raw)))));
}

function viaTranscoder(list: readonly Uint8Array[]): Buffer {
  const encoder = new JsonListEncoder();
  const chunks: Buffer[] = [];
  for (const raw of list) {
    const chunk = encoder.append(raw);
    if (chunk) chunks.push(chunk);
  }
  chunks.push(encoder.end());
  return Buffer.concat(chunks);
}

console.log(machine());
const lists: Record<string, Document[]> = {
  '100 orders of 1 KB': Array.from({ length: 100 }, (_, n) => order(n)),
  [`${movies().length} movies`]: movies(),
  '100 texts of 4 KB': Array.from({ length: 100 }, (_, n) => ({
    _id: `t${n}`,
    text: 'Lorem ipsum dolor sit. '.repeat(178),
  })),
  '1000 rows of numbers': Array.from({ length: 1000 }, (_, n) => ({
    _id: n,
    values: Array.from({ length: 20 }, (_, i) => Math.sin(n * i)),
  })),
};
for (const [name, documents] of Object.entries(lists)) {
  const list = documents.map((document) => Buffer.from(BSON.serialize(document)));
  const bytes = list.reduce((sum, raw) => sum + raw.length, 0);
  if (!viaObjects(list).equals(viaTranscoder(list))) throw new Error(`${name}: the two ways differ`);
  const result = compare(
    { name: 'transcoder', once: () => viaTranscoder(list) },
    { name: 'objects', once: () => viaObjects(list) },
  );
  const per = (time: number): string => (time / list.length).toFixed(2);
  console.log(
    `${name.padEnd(22)} ${Math.round(bytes / list.length)} B each: transcoder ${per(result.ours)} µs, ` +
      `objects ${per(result.reference)} µs a document: ${result.ratio.toFixed(2)} ×`,
  );
}

const body = Buffer.from(JSON.stringify(toWireDocument(order(1))));
const parsing = compare(
  { name: 'parseJson', once: () => parseStrictJson(body) },
  { name: 'JSON.parse', once: () => JSON.parse(body.toString()) },
);
console.log(
  `parseJson of ${body.length} B: ${parsing.ours.toFixed(2)} µs, bare JSON.parse ${parsing.reference.toFixed(2)} µs: ` +
    `costs ${(1 / parsing.ratio).toFixed(2)} ×`,
);
