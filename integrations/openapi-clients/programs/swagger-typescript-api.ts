/** With the client of swagger-typescript-api. */
import { Api, type ErrorCode, type HttpResponse, type Problem } from './api.ts';

const { api, files } = new Api({ baseUrl: process.argv[2] ?? '' });

const created = await api.createTodosDocument({ title: 'Buy milk', stars: 5 });
if (Array.isArray(created.data) || created.data.id === undefined) throw new Error('Not one document');
const { id } = created.data;
const ifMatch = { headers: { 'If-Match': created.headers.get('etag') ?? '' } };

const found = await api.listTodosDocuments({ filter: '{"stars":{"$gte":5}}', sort: '-stars' });
const titles: (string | undefined)[] = found.data.map(({ title }) => title);

const changed = await api.updateTodosDocument(id, { done: true }, ifMatch);
const stale: HttpResponse<unknown, Problem> = await api.updateTodosDocument(id, { done: false }, ifMatch).then(
  ({ status }) => Promise.reject(new Error(`Changed: ${status}`)),
  (response) => response,
);
const code: ErrorCode = stale.error.code;

const file = await files.uploadFile({ file: new File(['hello'], 'hello.txt'), metadata: '{"of":"swagger"}' });
await files.deleteFile(file.data.id ?? '');
const gone = await api.deleteTodosDocument(id, { headers: { Prefer: 'return=minimal' } });

console.log(
  JSON.stringify({
    titles,
    done: changed.data.done,
    problem: { status: stale.error.status, code },
    file: { name: file.data.name, size: file.data.size },
    deleted: gone.status,
  }),
);
