/** The parameters and request headers that the contract names. Not here: which request takes which (documents.ts). */
import { LIMITS } from '../../query/limits.ts';
import { COUNTS } from '../../query/parse/query.ts';
import { ref } from './shapes.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: true;
  readonly description?: string;
  readonly schema?: object;
  readonly [member: string]: unknown;
}

const path = (name: string, schema: object, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
});
const query = (name: string, schema: object, description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema,
});
const header = (name: string, description: string, schema: object = { type: 'string' }): Parameter => ({
  name,
  in: 'header',
  description,
  schema,
});

const text = { type: 'string' };

export const COLLECTION = path(
  'collection',
  {
    type: 'string',
    pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$',
    not: { enum: ['system', 'files', 'functions', 'events', 'admin'] },
  },
  'A letter, then up to 63 letters, digits, _ or -.',
);
export const DOCUMENT_ID = path('id', { type: 'string', minLength: 1, maxLength: 128 }, "The document's id.");
export const FILE_ID = path('id', { type: 'string', pattern: '^[0-9a-f]{24}$' }, "The file's id.");
export const FILE_NAME = path('name', { type: 'string', minLength: 1 }, 'Any name; the id counts.');

const FIELDS = query('fields', text, 'Members to show, as a,b.c, or to leave out, as -a,-b.');
const EXPAND = query('expand', text, 'Documents named by an id to show along, as authorId:users.');

/** What one document may be shown with. */
export const SHOWING: readonly Parameter[] = [FIELDS, EXPAND];

const CONDITIONS: Parameter = {
  name: 'conditions',
  in: 'query',
  description: 'Any other parameter is a condition: field=value or field[operator]=value.',
  style: 'form',
  explode: true,
  schema: { type: 'object', additionalProperties: { type: 'string' } },
};
const FILTER: Parameter = {
  name: 'filter',
  in: 'query',
  description: 'A filter as JSON, such as {"stars":{"$gte":4}}.',
  content: { 'application/json': { schema: { type: 'object' } } },
};

/** The query language in an address. */
export const LIST: readonly Parameter[] = [
  FILTER,
  query('sort', text, `Up to ${LIMITS.sortKeys} fields, as -stars,name.`),
  FIELDS,
  query('limit', { type: 'integer', minimum: 0, maximum: LIMITS.limit }, 'Documents of a page; all of them without.'),
  query('cursor', text, 'Where to go on: the Millrace-Next of the page before.'),
  query('skip', { type: 'integer', minimum: 0, maximum: LIMITS.skip }, 'Documents to pass over.'),
  query('count', { type: 'string', enum: [...COUNTS] }, 'Whether to count, in Millrace-Count.'),
  EXPAND,
  CONDITIONS,
];

/** The same for files, which have nothing to expand and are counted exactly or not. */
export const FILE_LIST: readonly Parameter[] = LIST.filter(({ name }) => name !== 'expand');

export const FEED: readonly Parameter[] = [
  query('since', text, 'A position: what came after it. Without, what comes from now on.'),
  query('wait', { type: 'integer', minimum: 0, maximum: 60 }, 'Seconds to wait for something to happen.'),
  query('limit', { type: 'integer', minimum: 1, maximum: 1_000 }, 'Events at most.'),
];
export const TYPES = query('types', text, 'Event types, such as todos.created,system.file.*');
export const CHANGES: readonly Parameter[] = [...FEED, FILTER, CONDITIONS];

export const UPSERT = query('upsert', { type: 'boolean' }, 'Creates the document when there is none.');
export const IF_MATCH = header('If-Match', 'Entity tags: writes only if what is there is still one of these.');
export const IF_NONE_MATCH = header('If-None-Match', 'Entity tags of copies at hand, or `*`.');
export const PREFER = header('Prefer', 'return=minimal or return=representation (RFC 7240).');
export const IDEMPOTENCY_KEY = header('Idempotency-Key', 'Makes the write once, however often it is sent.', {
  type: 'string',
  pattern: '^[\\x21-\\x7e]{1,255}$',
});
/** What a write by filter takes: which documents, and how many of them at most. */
export const BY_FILTER: readonly Parameter[] = [
  FILTER,
  CONDITIONS,
  {
    ...header('Prefer', 'How many documents may be touched at most, as max-affected=100.', {
      type: 'string',
      pattern: '^max-affected=[0-9]{1,9}$',
    }),
    required: true,
  },
];
export const RANGE = header('Range', 'A single range of bytes.');

/** Headers of every write of one document. */
export const WRITE: readonly Parameter[] = [IF_MATCH, PREFER, IDEMPOTENCY_KEY];

export const jsonBody = (schema: object | string, more: Record<string, object> = {}): object => ({
  required: true,
  content: { 'application/json': { schema: typeof schema === 'string' ? ref(schema) : schema }, ...more },
});
