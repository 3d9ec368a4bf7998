/** The requests for documents, and how each is written as a command and in TypeScript. Pure. */
import { quoted } from '../../parts/shell-word.ts';

export const REQUESTS = [
  { name: 'list', title: 'List', about: 'Documents that match a filter, a page at a time.', method: 'GET' },
  { name: 'get', title: 'Get', about: 'One document by its id.', method: 'GET' },
  { name: 'create', title: 'Create', about: 'A new document. Without an id it gets one.', method: 'POST' },
  { name: 'change', title: 'Change', about: 'Sets members; null removes one.', method: 'PATCH' },
  { name: 'delete', title: 'Delete', about: 'Deletes one document.', method: 'DELETE' },
  {
    name: 'subscribe',
    title: 'Subscribe',
    about: 'The answer to a list, and its changes as they happen.',
    method: 'GET',
  },
] as const;

export type RequestName = (typeof REQUESTS)[number]['name'];

export const LANGUAGES = [
  { value: 'curl', label: 'curl' },
  { value: 'typescript', label: 'TypeScript' },
] as const;

export type Language = (typeof LANGUAGES)[number]['value'];

/** What the person has filled in, as text. */
export interface Inputs {
  /** JSON; empty for all documents. */
  readonly filter: string;
  readonly sort: string;
  readonly limit: string;
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** Where the program sends it. */
export interface Target {
  readonly base: string;
  readonly collection: string;
  /** A credential is needed. */
  readonly signed: boolean;
}

export const isRead = (name: RequestName) => name === 'list' || name === 'get' || name === 'subscribe';
export const asksList = (name: RequestName) => name === 'list' || name === 'subscribe';
export const asksId = (name: RequestName) => name === 'get' || name === 'change' || name === 'delete';
export const asksBody = (name: RequestName) => name === 'create' || name === 'change';

/** The path with its parameters, as it is sent. */
export function pathOf(name: RequestName, collection: string, inputs: Inputs): string {
  const path = `/api/${encodeURIComponent(collection)}`;
  if (asksId(name)) return `${path}/${encodeURIComponent(inputs.id)}`;
  const query = asksList(name) ? String(new URLSearchParams(queryOf(inputs))) : '';
  return query === '' ? path : `${path}?${query}`;
}

export function curlOf(name: RequestName, { base, collection, signed }: Target, inputs: Inputs): string {
  const { method } = requestOf(name);
  const parts = [
    `curl${name === 'subscribe' ? ' -N' : ''}${method === 'GET' || name === 'create' ? '' : ` -X ${method}`}`,
  ];
  const path = `${base}/api/${encodeURIComponent(collection)}`;
  parts[0] += ` ${quoted(asksId(name) ? `${path}/${encodeURIComponent(inputs.id)}` : path)}`;
  if (signed) parts.push(`-H "authorization: Bearer $TOKEN"`);
  if (name === 'subscribe') parts.push(`-H 'accept: text/event-stream'`);
  if (asksList(name)) {
    const query = queryOf(inputs);
    if (query.length > 0) parts.push('-G');
    parts.push(...query.map(([key, value]) => `--data-urlencode ${quoted(`${key}=${value}`)}`));
  }
  if (asksBody(name)) parts.push(`-H 'content-type: application/json' -d ${quoted(compact(inputs.body))}`);
  return parts.join(' \\\n  ');
}

export function typescriptOf(name: RequestName, { base, collection, signed }: Target, inputs: Inputs): string {
  const client = signed ? `createClient('${base}', { token })` : `createClient('${base}')`;
  const head = [
    `import { createClient } from 'millrace/client';`,
    '',
    ...(signed ? [`const token = process.env['TOKEN'] ?? ''; // an API key`] : []),
    `const collection = ${client}.collection(${JSON.stringify(collection)});`,
  ];
  return [...head, ...callOf(name, inputs)].join('\n');
}

function callOf(name: RequestName, inputs: Inputs): string[] {
  const id = JSON.stringify(inputs.id);
  const body = compact(inputs.body);
  switch (name) {
    case 'list':
      return [`const { documents: found, next } = await collection.list(${optionsOf(inputs)});`];
    case 'get':
      return [`const found = await collection.get(${id});`];
    case 'create':
      return [`const made = await collection.create(${body});`];
    case 'change':
      return [`const changed = await collection.patch(${id}, ${body});`];
    case 'delete':
      return [`await collection.remove(${id});`];
    case 'subscribe':
      return [
        `const stop = collection.live(${optionsOf(inputs)}, ({ status, documents, problem }) => {`,
        '  console.log(status, documents, problem);',
        '});',
      ];
  }
}

export function requestOf(name: RequestName): (typeof REQUESTS)[number] {
  return REQUESTS.find((one) => one.name === name) ?? REQUESTS[0];
}

function queryOf({ filter, sort, limit }: Inputs): [string, string][] {
  const all: [string, string][] = [
    ['filter', compact(filter)],
    ['sort', sort.trim()],
    ['limit', limit.trim()],
  ];
  return all.filter(([, value]) => value !== '');
}

/** The query for the client. */
function optionsOf(inputs: Inputs): string {
  const members = queryOf(inputs).map(([key, value]) => `${key}: ${key === 'sort' ? JSON.stringify(value) : value}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** JSON on one line; what is no JSON stays as it is, and the server says what is wrong with it. */
function compact(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json.trim();
  }
}
