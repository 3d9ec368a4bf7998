/** OpenAPI operations of files. */
import Type from 'typebox';
import type { ErrorCode } from '../lib/errors.ts';
import { declareOperation, jsonResponse } from '../openapi/operation.ts';
import { headerParameter, IF_MATCH, IF_NONE_MATCH, pathParameter } from '../openapi/parameters.ts';
import { arraySchema, DATE_TIME_SCHEMA, namedSchema, nullable } from '../openapi/schema.ts';
import { LIST_HEADERS, LIST_QUERY_PARAMETERS, QUERY_ERRORS } from '../query/parse/query-openapi.ts';
import { FILE_KEY } from './stores/file-store.ts';
import { MAX_METADATA_BYTES, MAX_UPLOAD_FILES } from './upload/multipart-upload.ts';

const tag = 'files';

const FILE = namedSchema('StoredFile', {
  type: 'object',
  description: 'A file without its bytes; `fields` may omit fields.',
  properties: {
    id: { type: 'string' },
    url: { type: 'string' },
    name: { type: 'string' },
    type: { type: 'string' },
    size: { type: 'integer', minimum: 0 },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    createdAt: DATE_TIME_SCHEMA,
    createdBy: nullable(Type.String()),
    metadata: {},
  },
});
const ONE_FILE = { 200: { description: 'The file.', schema: FILE } };

export const FILE_ID = pathParameter('id', "The file's id.", { type: 'string', pattern: FILE_KEY.source }, 'fileId');
const NAME = pathParameter(
  'name',
  'Any name; only the id identifies the file.',
  { type: 'string', minLength: 1 },
  'fileName',
);
const RANGE = headerParameter('Range', 'A single range of bytes.');

const UPLOADING: readonly ErrorCode[] = [
  'unknown-parameter',
  'body-required',
  'malformed-json',
  'unsupported-field-name',
  'unsupported-value',
  'json-too-deep',
  'quota-exceeded',
  'storage-full',
  'upload-timeout',
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
const METADATA = {
  type: 'string',
  description: `JSON text of up to ${MAX_METADATA_BYTES / 1024} KiB to keep with the file.`,
};
const CONTENT = { type: 'string', format: 'binary' };
/** Any type: that of the file. Some generators know only types that are spelled out. */
const BINARY = { 'application/octet-stream': CONTENT, '*/*': CONTENT };
const upload = (properties: object, required: string) => ({
  'multipart/form-data': { type: 'object', properties, required: [required] },
});

export const FILE_OPERATIONS = {
  list: declareOperation({
    id: 'listFiles',
    tag,
    as: true,
    summary: 'List files',
    // Files have nothing to expand.
    parameters: LIST_QUERY_PARAMETERS.filter(({ name }) => name !== 'expand'),
    responses: jsonResponse('The files, streamed.', arraySchema(FILE), 200, LIST_HEADERS),
    errors: QUERY_ERRORS,
  }),
  upload: declareOperation({
    id: 'uploadFile',
    tag,
    summary: 'Upload a file',
    body: upload({ file: BYTES, metadata: METADATA }, 'file'),
    responses: ONE_FILE,
    errors: UPLOADING,
  }),
  uploadMany: declareOperation({
    id: 'uploadManyFiles',
    tag,
    summary: `Upload up to ${MAX_UPLOAD_FILES} files, all or none`,
    body: upload({ files: arraySchema(BYTES), metadata: METADATA }, 'files'),
    responses: jsonResponse('The files in order.', arraySchema(FILE)),
    errors: UPLOADING,
  }),
  get: declareOperation({
    id: 'getFile',
    tag,
    as: true,
    summary: 'Get a file, without its bytes',
    parameters: [FILE_ID],
    responses: ONE_FILE,
    errors: [...FINDING, 'unknown-parameter'],
  }),
  remove: declareOperation({
    id: 'deleteFile',
    tag,
    summary: 'Delete a file',
    parameters: [FILE_ID, IF_MATCH, IF_NONE_MATCH],
    responses: { 204: { description: 'Deleted.' } },
    errors: [
      ...FINDING,
      'unknown-parameter',
      'precondition-failed',
      'unsupported-media-type',
      'body-required',
      'storage-full',
    ],
  }),
  bytes: declareOperation({
    id: 'downloadFile',
    tag,
    as: true,
    summary: 'Get the bytes of a file',
    parameters: [FILE_ID, NAME, RANGE, IF_NONE_MATCH],
    responses: {
      200: { description: 'All bytes.', content: BINARY, headers: ['ETag'] },
      206: { description: 'Some bytes.', content: BINARY, headers: ['ETag', 'Content-Range'] },
      304: { description: 'Not changed.', headers: ['ETag'] },
    },
    errors: [...FINDING, 'precondition-failed', 'range-not-satisfiable'],
  }),
};
