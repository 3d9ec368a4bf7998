/** With the typescript-fetch client of openapi-generator. */
import {
  Configuration,
  DocumentsTodosApi,
  type ErrorCode,
  FilesApi,
  type Problem,
  ProblemFromJSON,
  ResponseError,
} from './api/index.js';

const configuration = new Configuration({ basePath: process.argv[2] ?? '' });
const todos = new DocumentsTodosApi(configuration);
const files = new FilesApi(configuration);

// It cannot send one document where a list is possible too.
const created = await todos.createTodosDocument({ documentInputOrList: [{ title: 'Buy milk', stars: 5 }] });
const id = Array.isArray(created) ? (created[0]?.id ?? '') : '';
const ifMatch = (await todos.getTodosDocumentRaw({ id })).raw.headers.get('etag') ?? '';

const found = await todos.listTodosDocuments({ filter: '{"stars":{"$gte":5}}', sort: '-stars' });
const titles: (string | undefined)[] = found.map(({ title }) => title);

const changed = await todos.updateTodosDocument({ id, ifMatch, requestBody: { done: true } });
const problem: Problem = await todos.updateTodosDocument({ id, ifMatch, requestBody: { done: false } }).then(
  () => Promise.reject(new Error('Changed')),
  async (error) => ProblemFromJSON(error instanceof ResponseError ? await error.response.json() : {}),
);
const code: ErrorCode = problem.code;

const file = await files.uploadFile({ file: new File(['hello'], 'hello.txt'), metadata: '{"of":"typescript-fetch"}' });
await files.deleteFile({ id: file.id ?? '' });
const gone = await todos.deleteTodosDocumentRaw({ id, prefer: 'return=minimal' });

console.log(
  JSON.stringify({
    titles,
    done: changed?.done,
    problem: { status: problem.status, code },
    file: { name: file.name, size: file.size },
    deleted: gone.raw.status,
  }),
);
