/** With openapi-typescript and openapi-fetch. */
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

type Problem = components['schemas']['Problem'];
type Code = components['schemas']['ErrorCode'];

const client = createClient<paths>({ baseUrl: process.argv[2] ?? '' });

function must<T>({ data, error }: { data?: T; error?: Problem }): T {
  if (data === undefined) throw new Error(error?.code ?? 'no response');
  return data;
}

const body = { title: 'Buy milk', stars: 5 };
const created = await client.POST('/api/todos', { body });
const document = must(created);
if (Array.isArray(document) || document.id === undefined) throw new Error('Not one document');
const path = { id: document.id };
const header = { 'If-Match': created.response.headers.get('etag') ?? '' };

const query = { filter: '{"stars":{"$gte":5}}', sort: '-stars' };
const found = must(await client.GET('/api/todos', { params: { query } }));
const titles: (string | undefined)[] = found.map(({ title }) => title);

const changed = must(await client.PATCH('/api/todos/{id}', { params: { path, header }, body: { done: true } }));
const stale = await client.PATCH('/api/todos/{id}', { params: { path, header }, body: { done: false } });
const code: Code | undefined = stale.error?.code;

const file = must(
  await client.POST('/files', {
    body: { file: 'hello', metadata: '{"of":"openapi-fetch"}' },
    bodySerializer({ file, metadata }) {
      const form = new FormData();
      form.append('metadata', metadata ?? '');
      form.append('file', new Blob([file]), 'hello.txt');
      return form;
    },
  }),
);
await client.DELETE('/files/{id}', { params: { path: { id: file.id ?? '' } } });
const gone = await client.DELETE('/api/todos/{id}', { params: { path, header: { Prefer: 'return=minimal' } } });

console.log(
  JSON.stringify({
    titles,
    done: changed?.done,
    problem: { status: stale.error?.status, code },
    file: { name: file.name, size: file.size },
    deleted: gone.response.status,
  }),
);
