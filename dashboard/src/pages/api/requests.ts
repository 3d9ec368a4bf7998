/** The requests for documents, each as a command and in TypeScript. Pure. */
import { quoted } from '../../parts/shell-word.ts';

export const REQUESTS = [
  { name: 'list', title: 'List', about: 'Documents that match a filter, page by page.', method: 'GET' },
  { name: 'get', title: 'Get', about: 'One document by its id.', method: 'GET' },
  {
    name: 'create',
    title: 'Create',
    about: 'Creates a document. The server generates the id if there is none.',
    method: 'POST',
  },
  { name: 'change', title: 'Update', about: 'Sets fields; null removes a field.', method: 'PATCH' },
  { name: 'delete', title: 'Delete', about: 'Deletes one document.', method: 'DELETE' },
  {
    name: 'subscribe',
    title: 'Subscribe',
    about: 'The result of a query, updated live.',
    method: 'GET',
  },
] as const;

export type RequestName = (typeof REQUESTS)[number]['name'];

export const LANGUAGES = [
  { value: 'curl', label: 'curl' },
  { value: 'typescript', label: 'TypeScript' },
] as const;

export type Language = (typeof LANGUAGES)[number]['value'];

/** The user's input, as text. */
export interface Inputs {
  /** JSON; empty for all documents. */
  readonly filter: string;
  readonly sort: string;
  readonly limit: string;
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** The URL of the server. */
export interface Target {
  readonly base: string;
  readonly collection: string;
  /** A credential is needed. */
  readonly signed: boolean;
}

export const isRead = (name: RequestName) => name === 'list' || name === 'get' || name === 'subscribe';
export const requestsList = (name: RequestName) => name === 'list' || name === 'subscribe';
export const requestsId = (name: RequestName) => name === 'get' || name === 'change' || name === 'delete';
export const requestsBody = (name: RequestName) => name === 'create' || name === 'change';

/** The path with its parameters, as sent. */
export function pathOf(name: RequestName, collection: string, inputs: Inputs): string {
  const path = `/api/${encodeURIComponent(collection)}`;
  if (requestsId(name)) return `${path}/${encodeURIComponent(inputs.id)}`;
  const query = requestsList(name) ? String(new URLSearchParams(queryOf(inputs))) : '';
  return query === '' ? path : `${path}?${query}`;
}

export function curlOf(name: RequestName, { base, collection, signed }: Target, inputs: Inputs): string {
  const { method } = requestOf(name);
  const parts = [
    `curl${name === 'subscribe' ? ' -N' : ''}${method === 'GET' || name === 'create' ? '' : ` -X ${method}`}`,
  ];
  const path = `${base}/api/${encodeURIComponent(collection)}`;
  parts[0] += ` ${quoted(requestsId(name) ? `${path}/${encodeURIComponent(inputs.id)}` : path)}`;
  if (signed) parts.push(`-H "authorization: Bearer $TOKEN"`);
  if (name === 'subscribe') parts.push(`-H 'accept: text/event-stream'`);
  if (requestsList(name)) {
    const query = queryOf(inputs);
    if (query.length > 0) parts.push('-G');
    parts.push(...query.map(([key, value]) => `--data-urlencode ${quoted(`${key}=${value}`)}`));
  }
  if (requestsBody(name)) parts.push(`-H 'content-type: application/json' -d ${quoted(compact(inputs.body))}`);
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
      return [`const created = await collection.create(${body});`];
    case 'change':
      return [`const updated = await collection.patch(${id}, ${body});`];
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
  const fields = queryOf(inputs).map(([key, value]) => `${key}: ${key === 'sort' ? JSON.stringify(value) : value}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** JSON on one line; invalid JSON stays unchanged, and the server reports the error. */
function compact(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json));
  } catch {
    return json.trim();
  }
}
