/** With the client of hey-api. */
import { client } from './api/client.gen.js';
import {
  createTodosDocument,
  deleteFile,
  deleteTodosDocument,
  listTodosDocuments,
  updateTodosDocument,
  uploadFile,
} from './api/sdk.gen.js';
import type { ErrorCode, Problem } from './api/types.gen.js';

client.setConfig({ baseUrl: process.argv[2] ?? '' });

function must<T>({ data, error }: { data: T | undefined; error: Problem | undefined }): T {
  if (data === undefined) throw new Error(error?.code ?? 'no response');
  return data;
}

const created = await createTodosDocument({ body: { title: 'Buy milk', stars: 5 } });
const document = must(created);
if (Array.isArray(document) || document.id === undefined) throw new Error('Not one document');
const path = { id: document.id };
const headers = { 'If-Match': created.response?.headers.get('etag') ?? '' };

const found = must(await listTodosDocuments({ query: { filter: '{"stars":{"$gte":5}}', sort: '-stars' } }));
const titles: (string | undefined)[] = found.map(({ title }) => title);

const changed = must(await updateTodosDocument({ path, headers, body: { done: true } }));
const stale = await updateTodosDocument({ path, headers, body: { done: false } });
const code: ErrorCode | undefined = stale.error?.code;

const upload = { file: new File(['hello'], 'hello.txt'), metadata: '{"of":"hey-api"}' };
const file = must(await uploadFile({ body: upload }));
await deleteFile({ path: { id: file.id ?? '' } });
const gone = await deleteTodosDocument({ path, headers: { Prefer: 'return=minimal' } });

console.log(
  JSON.stringify({
    titles,
    done: changed?.done,
    problem: { status: stale.error?.status, code },
    file: { name: file.name, size: file.size },
    deleted: gone.response?.status,
  }),
);
