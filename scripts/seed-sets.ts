/** The real documents for seeding a server, from packages of open data, and how they are split into request bodies. */
import { readFile } from 'node:fs/promises';

/** One document as a JSON object. */
export type Field = Readonly<Record<string, unknown>>;

export interface SeedSet {
  /** The name of its collection, and its name on the command line. */
  readonly name: string;
  /** A description for the help text. */
  readonly title: string;
  /** Its documents, in the order of the source. */
  read(): Promise<readonly Field[]>;
  /** The id of a document; if absent, the server generates one. */
  readonly id?: (document: Field) => unknown;
}

/** From small to large. */
export const SEED_SETS: readonly SeedSet[] = [
  {
    name: 'countries',
    title: '250 countries, by their three letters (world-countries)',
    read: () => readArray('world-countries/countries.json'),
    id: (country) => country['cca3'],
  },
  {
    name: 'movies',
    title: '3,201 films (vega-datasets)',
    read: () => readArray('vega-datasets/data/movies.json'),
  },
  {
    name: 'flights',
    title: '200,000 flights: delay, distance, time (vega-datasets)',
    read: () => readArray('vega-datasets/data/flights-200k.json'),
  },
];

async function readArray(path: string): Promise<readonly Field[]> {
  const parsed: unknown = JSON.parse(await readFile(new URL(`../node_modules/${path}`, import.meta.url), 'utf8'));
  if (!Array.isArray(parsed)) throw new TypeError(`${path} does not contain an array`);
  return parsed;
}

/** Limits of one request, see docs/api.md. The bytes are slightly below the limit. */
const MAX_DOCUMENTS = 1_000;
const MAX_BYTES = 1_000_000;

/** One request body: a JSON array, and the number of its documents. */
export interface Body {
  readonly text: string;
  readonly count: number;
}

/** Splits documents into bodies within the server's limits. */
export function* bodies(documents: Iterable<unknown>, maxBytes = MAX_BYTES): Generator<Body> {
  let texts: string[] = [];
  let bytes = 2;
  for (const document of documents) {
    const text = JSON.stringify(document);
    const size = Buffer.byteLength(text) + 1;
    if (texts.length > 0 && (texts.length === MAX_DOCUMENTS || bytes + size > maxBytes)) {
      yield { text: `[${texts.join()}]`, count: texts.length };
      texts = [];
      bytes = 2;
    }
    texts.push(text);
    bytes += size;
  }
  if (texts.length > 0) yield { text: `[${texts.join()}]`, count: texts.length };
}
