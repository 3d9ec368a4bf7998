/** With the client of orval. */
import {
  createTodosDocument,
  deleteFile,
  deleteTodosDocument,
  type ErrorCode,
  listTodosDocuments,
  updateTodosDocument,
  uploadFile,
} from './api.ts';

const created = await createTodosDocument({ title: 'Buy milk', stars: 5 });
if (created.status !== 201) throw new Error(created.data.code);
if (Array.isArray(created.data) || created.data.id === undefined) throw new Error('Not one document');
const { id } = created.data;
const ifMatch = { 'If-Match': created.headers.get('etag') ?? '' };
const merge = { headers: { ...ifMatch, 'Content-Type': 'application/merge-patch+json' } };

const found = await listTodosDocuments({ filter: '{"stars":{"$gte":5}}', sort: '-stars' });
if (found.status !== 200) throw new Error(found.data.code);
const titles: (string | undefined)[] = found.data.map(({ title }) => title);

const changed = await updateTodosDocument(id, { done: true }, merge);
if (changed.status !== 200) throw new Error(`Not changed: ${changed.status}`);
const stale = await updateTodosDocument(id, { done: false }, merge);
if (stale.status !== 412) throw new Error(`Changed: ${stale.status}`);
const code: ErrorCode = stale.data.code;

const file = await uploadFile({ file: new File(['hello'], 'hello.txt'), metadata: '{"of":"orval"}' });
if (file.status !== 200) throw new Error(file.data.code);
await deleteFile(file.data.id ?? '');
const gone = await deleteTodosDocument(id, { headers: { Prefer: 'return=minimal' } });

console.log(
  JSON.stringify({
    titles,
    done: changed.data.done,
    problem: { status: stale.data.status, code },
    file: { name: file.data.name, size: file.data.size },
    deleted: gone.status,
  }),
);
