/**
 * The operations on files as the contract describes them. Not here: the routes (routes.ts), and signing an address
 * (sign-routes.ts).
 */
import Type from 'typebox';
import { answer, operation } from '../contract/operation.ts';
import { headerParameter, IF_MATCH, IF_NONE_MATCH, pathParameter } from '../contract/parameters.ts';
import { listOf, nullable, shape, TIME } from '../contract/schema.ts';
import type { ErrorCode } from '../kernel/errors.ts';
import { LIST, LIST_HEADERS, QUERY_ERRORS } from '../query/parse/query-contract.ts';
import { FILE_KEY } from './stores/file-store.ts';
import { MAX_CUSTOM_BYTES, MAX_FILES } from './upload/intake.ts';

const tag = 'Files';

const FILE = shape('File', {
  type: 'object',
  description: 'A file without its bytes; `fields` may leave members out.',
  properties: {
    id: { type: 'string' },
    url: { type: 'string' },
    name: { type: 'string' },
    type: { type: 'string' },
    size: { type: 'integer', minimum: 0 },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    createdAt: TIME,
    createdBy: nullable(Type.String()),
    custom: {},
  },
});
const ONE_FILE = { 200: { description: 'The file.', schema: FILE } };

export const FILE_ID = pathParameter('id', "The file's id.", { type: 'string', pattern: FILE_KEY.source });
const NAME = pathParameter('name', 'Any name; only the id decides.', { type: 'string', minLength: 1 });
const RANGE = headerParameter('Range', 'A single range of bytes.');

const UPLOADING: readonly ErrorCode[] = [
  'unknown-parameter',
  'body-required',
  'malformed-json',
  'unsupported-key',
  'unsupported-value',
  'too-deep',
  'quota-exceeded',
  'storage-full',
  'upload-expired',
  'policy-revoked',
  'request-timeout',
  'file-too-large',
  'too-many-parts',
  'body-too-large',
  'unsupported-media-type',
  'file-store-unavailable',
];
const FINDING: readonly ErrorCode[] = ['file-not-found', 'file-store-unavailable'];

const BYTES = { type: 'string', contentMediaType: 'application/octet-stream', format: 'binary' };
// A part of a multipart body has no type of its own.
const CUSTOM = { description: `JSON of up to ${MAX_CUSTOM_BYTES / 1024} KiB to keep with the file.` };
const upload = (properties: object, required: string) => ({
  'multipart/form-data': { type: 'object', properties, required: [required] },
});

export const FILE_OPERATIONS = {
  list: operation({
    id: 'files.list',
    tag,
    as: true,
    summary: 'List files',
    // Files have nothing to expand.
    parameters: LIST.filter(({ name }) => name !== 'expand'),
    answers: answer('The files, streamed.', listOf(FILE), 200, LIST_HEADERS),
    errors: QUERY_ERRORS,
  }),
  upload: operation({
    id: 'files.upload',
    tag,
    summary: 'Upload a file',
    body: upload({ file: BYTES, custom: CUSTOM }, 'file'),
    answers: ONE_FILE,
    errors: UPLOADING,
  }),
  uploadMany: operation({
    id: 'files.uploadMany',
    tag,
    summary: `Upload up to ${MAX_FILES} files, all or none`,
    body: upload({ files: { ...listOf(BYTES), minItems: 1 }, custom: CUSTOM }, 'files'),
    answers: answer('The files in order.', listOf(FILE)),
    errors: UPLOADING,
  }),
  get: operation({
    id: 'files.get',
    tag,
    as: true,
    summary: 'Get a file, without its bytes',
    parameters: [FILE_ID],
    answers: ONE_FILE,
    errors: [...FINDING, 'unknown-parameter'],
  }),
  remove: operation({
    id: 'files.remove',
    tag,
    summary: 'Delete a file',
    parameters: [FILE_ID, IF_MATCH, IF_NONE_MATCH],
    answers: { 204: { description: 'Deleted.' } },
    errors: [
      ...FINDING,
      'unknown-parameter',
      'precondition-failed',
      'unsupported-media-type',
      'body-required',
      'storage-full',
    ],
  }),
  bytes: operation({
    id: 'files.bytes',
    tag,
    as: true,
    summary: 'Get the bytes of a file',
    parameters: [FILE_ID, NAME, RANGE, IF_NONE_MATCH],
    answers: {
      200: { description: 'All bytes.', content: { '*/*': {} }, headers: ['ETag'] },
      206: { description: 'Some bytes.', content: { '*/*': {} }, headers: ['ETag', 'Content-Range'] },
      304: { description: 'Not changed.', headers: ['ETag'] },
    },
    errors: [...FINDING, 'precondition-failed', 'range-not-satisfiable'],
  }),
};
