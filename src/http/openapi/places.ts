/** The requests that are not for documents, as operations of the contract: files, events, indexes, the program itself. */
import { SIGN } from '../../files/sign-routes.ts';
import type { ErrorCode } from '../../kernel/errors.ts';
import { ASKING, PAGE_HEADERS, type Paths } from './documents.ts';
import { BODY, toOperation } from './operation.ts';
import {
  CHANGES,
  COLLECTION,
  FEED,
  FILE_ID,
  FILE_LIST,
  FILE_NAME,
  IF_MATCH,
  IF_NONE_MATCH,
  jsonBody,
  RANGE,
  TYPES,
} from './parameters.ts';
import { ref } from './shapes.ts';

const FEEDING: readonly ErrorCode[] = [
  'unknown-parameter',
  'invalid-parameter',
  'position-expired',
  'position-unknown',
  'epoch-changed',
];
const UPLOADING: readonly ErrorCode[] = [
  'unknown-parameter',
  'body-required',
  'malformed-json',
  'unsupported-key',
  'unsupported-value',
  'too-deep',
  'upload-expired',
  'request-timeout',
  'file-too-large',
  'too-many-parts',
  'body-too-large',
  'unsupported-media-type',
  'file-store-unavailable',
];
const FILE: readonly ErrorCode[] = ['file-not-found', 'file-store-unavailable'];

export function filePaths(): Paths {
  // A part of a multipart body has no type of its own.
  const custom = { description: 'JSON of up to 8 KiB to keep with the file.' };
  const upload = (properties: object, required: string) => ({
    required: true,
    content: { 'multipart/form-data': { schema: { type: 'object', properties, required: [required] } } },
  });
  const binary = { type: 'string', contentMediaType: 'application/octet-stream', format: 'binary' };
  const list = { type: 'array', items: ref('File') };
  return {
    '/files': {
      get: toOperation({
        operationId: 'files.list',
        tag: 'Files',
        summary: 'List files',
        parameters: FILE_LIST,
        answers: { 200: { description: 'The files, streamed.', schema: list, headers: PAGE_HEADERS } },
        errors: ASKING,
      }),
      post: toOperation({
        operationId: 'files.upload',
        tag: 'Files',
        summary: 'Upload a file',
        requestBody: upload({ file: binary, custom }, 'file'),
        answers: { 200: { description: 'The file.', schema: ref('File') } },
        errors: UPLOADING,
      }),
    },
    '/files/bulk': {
      post: toOperation({
        operationId: 'files.uploadMany',
        tag: 'Files',
        summary: 'Upload up to 20 files, all or none',
        requestBody: upload({ files: { type: 'array', items: binary, minItems: 1 }, custom }, 'files'),
        answers: { 200: { description: 'The files in order.', schema: list } },
        errors: UPLOADING,
      }),
    },
    '/files/{id}': {
      get: toOperation({
        operationId: 'files.get',
        tag: 'Files',
        summary: 'Get what is known of a file',
        parameters: [FILE_ID],
        answers: { 200: { description: 'The file.', schema: ref('File') } },
        errors: [...FILE, 'unknown-parameter'],
      }),
      delete: toOperation({
        operationId: 'files.remove',
        tag: 'Files',
        summary: 'Delete a file',
        parameters: [FILE_ID, IF_MATCH, IF_NONE_MATCH],
        answers: { 204: { description: 'Deleted.' } },
        errors: [...FILE, 'unknown-parameter', 'precondition-failed', 'unsupported-media-type', 'body-required'],
      }),
    },
    '/files/{id}/sign': {
      post: toOperation({
        operationId: 'files.sign',
        tag: 'Files',
        summary: 'Make an address of the bytes that needs no credential for a while',
        parameters: [FILE_ID],
        requestBody: jsonBody(SIGN),
        answers: {
          200: {
            description: 'The address, and when it ends.',
            schema: {
              type: 'object',
              required: ['url', 'expiresAt'],
              properties: { url: { type: 'string' }, expiresAt: { type: 'string', format: 'date-time' } },
            },
          },
        },
        errors: [...BODY, 'unknown-parameter', 'not-acceptable', 'file-not-found'],
      }),
    },
    '/files/{id}/{name}': {
      get: toOperation({
        operationId: 'files.bytes',
        tag: 'Files',
        summary: 'Get the bytes of a file',
        parameters: [FILE_ID, FILE_NAME, RANGE, IF_NONE_MATCH],
        answers: {
          200: { description: 'All bytes.', content: { '*/*': {} }, headers: ['ETag'] },
          206: { description: 'Some bytes.', content: { '*/*': {} }, headers: ['ETag', 'Content-Range'] },
          304: { description: 'Not changed.', headers: ['ETag'] },
        },
        errors: [...FILE, 'precondition-failed', 'range-not-satisfiable'],
      }),
    },
  };
}

export function eventPaths(): Paths {
  const page = (member: string) => ({
    description: 'What happened, and the position to ask from next.',
    headers: ['Millrace-Position'],
    schema: {
      type: 'object',
      required: [member, 'position'],
      properties: { [member]: { type: 'array', items: ref('Event') }, position: { type: 'string' } },
    },
  });
  return {
    '/events': {
      get: toOperation({
        operationId: 'events.list',
        tag: 'Events',
        summary: 'Follow all events',
        parameters: [...FEED, TYPES],
        answers: { 200: page('events') },
        errors: FEEDING,
      }),
    },
    '/api/{collection}/_changes': {
      get: toOperation({
        operationId: 'changes',
        tag: 'Events',
        summary: 'Follow the changes of a collection',
        parameters: [COLLECTION, ...CHANGES],
        answers: { 200: page('changes') },
        errors: [...FEEDING, ...ASKING, 'invalid-name'],
      }),
    },
  };
}

export function adminPaths(): Paths {
  const indexes = { type: 'array', items: ref('Index') };
  const summary = {
    type: 'object',
    required: ['name', 'documents', 'bytes'],
    properties: { name: { type: 'string' }, documents: { type: 'integer' }, bytes: { type: 'integer' } },
  };
  return {
    '/admin/collections': {
      get: toOperation({
        operationId: 'collections.list',
        tag: 'Running it',
        summary: 'List the collections',
        answers: { 200: { description: 'All of them, by name.', schema: { type: 'array', items: summary } } },
        errors: ['not-acceptable', 'unknown-parameter'],
      }),
    },
    '/admin/collections/{collection}': {
      patch: toOperation({
        operationId: 'collections.rename',
        tag: 'Running it',
        summary: 'Rename a collection',
        parameters: [COLLECTION],
        requestBody: jsonBody({
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string', description: 'The new name.' } },
          additionalProperties: false,
        }),
        answers: { 200: { description: 'The collection.', schema: summary } },
        errors: [
          ...BODY,
          'invalid-name',
          'not-acceptable',
          'unknown-parameter',
          'resource-not-available',
          'collection-exists',
        ],
      }),
      delete: toOperation({
        operationId: 'collections.drop',
        tag: 'Running it',
        summary: 'Delete a collection with all that is in it',
        parameters: [COLLECTION],
        answers: { 204: { description: 'It is gone.' } },
        errors: ['invalid-name', 'not-acceptable', 'unknown-parameter', 'resource-not-available'],
      }),
    },
    '/admin/collections/{collection}/indexes': {
      get: toOperation({
        operationId: 'indexes.list',
        tag: 'Running it',
        summary: 'List the indexes of a collection',
        parameters: [COLLECTION],
        answers: { 200: { description: 'The indexes.', schema: indexes } },
        errors: ['invalid-name', 'not-acceptable', 'unknown-parameter', 'resource-not-available'],
      }),
      put: toOperation({
        operationId: 'indexes.replace',
        tag: 'Running it',
        summary: 'Set the indexes of a collection',
        description: 'The body is the whole list: what is missing is built, what is not listed is dropped.',
        parameters: [COLLECTION],
        requestBody: jsonBody({ type: 'array', items: ref('Index'), maxItems: 32 }),
        answers: { 200: { description: 'The indexes as they are now.', schema: indexes } },
        errors: [
          ...BODY,
          'invalid-name',
          'not-acceptable',
          'unknown-parameter',
          'invalid-index',
          'unique-violation',
          'index-impossible',
          'contention',
        ],
      }),
    },
    '/admin/state': {
      get: toOperation({
        operationId: 'state',
        tag: 'Running it',
        summary: 'How the parts are doing',
        answers: { 200: { description: 'The state.', schema: { type: 'object' } } },
        errors: [],
      }),
    },
    ...health('/healthz', 'Whether the program lives', 'ok'),
    ...health('/readyz', 'Whether it can serve', 'ready'),
  };
}

function health(path: string, summary: string, status: string): Paths {
  const schema = { type: 'object', required: ['status'], properties: { status: { const: status } } };
  const answers = { 200: { description: 'It does.', schema } };
  return {
    [path]: { get: toOperation({ operationId: path.slice(1), tag: 'Running it', summary, answers, errors: [] }) },
  };
}
