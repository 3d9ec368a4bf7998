/** Files over HTTP. Specified in docs/api.md. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MillraceError } from '../lib/errors.ts';
import { parseQueryParameters, queryString, refuseCompressedBody, requestBaseUrl } from '../lib/request.ts';
import { MAX_UNSTREAMED_BYTES } from '../lib/streaming/chunks.ts';
import type { Policies } from '../policies/policies.ts';
import type { RightsAtRequestStart } from '../policies/revalidation/revalidation.ts';
import type { StreamedResponses } from '../policies/revalidation/streamed-responses.ts';
import type { PolicyAction, Scope, ScopeAction } from '../policies/scope.ts';
import { childFieldTree, FULL_FIELD_TREE } from '../query/evaluate/field-tree.ts';
import { parseQuery } from '../query/parse/parse-query.ts';
import { parseQueryString } from '../query/parse/parse-query-string.ts';
import { FILE_OPERATIONS } from './file-openapi.ts';
import { planFileResponse } from './file-response.ts';
import type { Files } from './files.ts';
import { selectResourceFields, sendFiles } from './list-response.ts';
import { hasValidSignature } from './signed-urls.ts';
import type { StoredFile } from './upload/file.ts';
import { rejectPartialFileUpload } from './upload/form-fields.ts';
import { drainAfterResponse, enforceMinimumRate } from './upload/min-rate.ts';
import { readMultipartParts } from './upload/multipart.ts';
import type { ExpectedFiles } from './upload/multipart-upload.ts';
import { toVisibleResource, type VisibleFile } from './visible-file.ts';

const MULTIPART = 'multipart/form-data';

/** Memory of a download, in bytes: the chunks that are read ahead, and the one that is being sent. */
const DOWNLOAD_BYTES = 3 * 1_048_576;

export interface FileRoutesOptions {
  readonly files: Files;
  readonly policies: Policies;
  readonly streamedResponses: StreamedResponses;
  /** Maximum response of a list, in bytes. */
  readonly listBytes: number;
  /** The public URL of this server, if it differs from the URL that clients connect to. */
  readonly publicUrl: string | undefined;
  /** The newest position of the event log: a list read now misses no event before it. */
  readonly position: () => string;
}

interface OnFile {
  Params: { id: string };
}

interface OnBytes {
  Params: { id: string; name: string };
}

export async function fileRoutes(app: FastifyInstance, options: FileRoutesOptions): Promise<void> {
  const { files, policies, streamedResponses, listBytes, publicUrl, position } = options;

  app.removeAllContentTypeParsers();
  // The upload reads the body itself, part by part.
  app.addContentTypeParser(MULTIPART, (_request, _payload, done) => done(null));
  app.addContentTypeParser('*', (request, _payload, done) => done(refusedType(request)));

  const scopeOf = <A extends PolicyAction>(request: FastifyRequest, action: A): Scope<ScopeAction<A>> =>
    policies.scope(request.principal, action, '_files');
  /** The rights that a streamed response or an upload starts with. */
  const grantsOf = (request: FastifyRequest, action: PolicyAction, scope: Scope): RightsAtRequestStart => ({
    principal: request.principal,
    asker: request.asker,
    as: request.as,
    authorization: request.headers.authorization,
    generation: policies.generation,
    scopes: [scope],
    renewScopes: (now) => [policies.find(now, action, '_files')],
  });
  const baseOf = (request: FastifyRequest): string => publicUrl ?? requestBaseUrl(request);

  async function upload(request: FastifyRequest, expected: ExpectedFiles): Promise<readonly VisibleFile[]> {
    parseQueryParameters(request, []);
    refuseKey(request);
    const scope = scopeOf(request, 'create');
    if (!isMultipart(request)) throw refusedType(request);
    refuseCompressedBody(request);
    rejectPartialFileUpload(request.headers);
    const stop = enforceMinimumRate(request.raw);
    const rights = streamedResponses.watch(grantsOf(request, 'create', scope));
    try {
      return await files.upload(scope, readMultipartParts(request.raw), expected, { request: request.id, rights });
    } catch (error) {
      drainAfterResponse(request.raw);
      throw error;
    } finally {
      stop();
      rights.end();
    }
  }

  app.post('/files', { config: FILE_OPERATIONS.upload }, async (request) => {
    const [file] = await upload(request, 'file');
    if (file === undefined) throw new TypeError('An upload without a file was accepted');
    return toVisibleResource(file, baseOf(request));
  });

  app.post('/files/bulk', { config: FILE_OPERATIONS.uploadMany }, async (request) => {
    const stored = await upload(request, 'files');
    return stored.map((file) => toVisibleResource(file, baseOf(request)));
  });

  app.get('/files', { config: FILE_OPERATIONS.list }, async (request, reply) => {
    const query = parseQuery(parseQueryString(queryString(request)));
    const scope = scopeOf(request, 'read');
    reply.header('millrace-position', position());
    const grants = grantsOf(request, 'read', scope);
    const list = await files.list(scope, query);
    const resource = (file: VisibleFile) =>
      selectResourceFields(toVisibleResource(file, baseOf(request)), query.fields);
    const begin = (bytes: number) => streamedResponses.begin(request, reply.raw, grants, bytes);
    return sendFiles(reply, list, { resource, most: listBytes, begin });
  });

  app.get<OnFile>('/files/:id', { config: FILE_OPERATIONS.get }, async (request) => {
    parseQueryParameters(request, []);
    return toVisibleResource(await files.get(scopeOf(request, 'get'), request.params.id), baseOf(request));
  });

  app.delete<OnFile>('/files/:id', { config: FILE_OPERATIONS.remove }, async (request, reply) => {
    parseQueryParameters(request, []);
    await files.remove(scopeOf(request, 'delete'), request.params.id, request.id, request.headers);
    return reply.code(204).send();
  });

  app.route<OnBytes>({
    method: ['GET', 'HEAD'],
    url: '/files/:id/:name',
    // Pages of any origin may embed a readable file; policies decide about the request itself.
    config: { ...FILE_OPERATIONS.bytes, embeddable: true },
    handler: async (request, reply) => sendBytes(request, reply),
  });

  async function sendBytes(request: FastifyRequest<OnBytes>, reply: FastifyReply): Promise<FastifyReply> {
    const { id } = request.params;
    const signed = hasValidSignature(files.signedUrlKeys.verifying, id, queryString(request), Date.now() / 1_000);
    const scope = signed ? null : scopeOf(request, 'get');
    // A signed URL cannot be revoked, so there are no rights to check again.
    const grants = scope && grantsOf(request, 'get', scope);
    const seen = scope === null ? files.getSigned(request.principal, id) : files.get(scope, id);
    const file = named(await seen, signed ? request.params.name : 'file');
    const { status, headers, range } = planFileResponse(request.method, request.headers, file);
    if (range === undefined) return reply.code(status).headers(headers).send();
    const size = range === 'whole' ? file.size : range.end - range.start + 1;
    const open = () => files.open(file, range === 'whole' ? undefined : range);
    if (size <= MAX_UNSTREAMED_BYTES)
      return reply
        .code(status)
        .headers(headers)
        .send(await open());
    const response = streamedResponses.begin(request, reply.raw, grants, Math.min(size, DOWNLOAD_BYTES));
    const bytes = await open();
    const stream = Readable.from(response.allowed(bytes), { objectMode: false });
    // The client may have disconnected before the first chunk was requested.
    stream.once('close', () => bytes.destroy());
    return reply.code(status).headers(headers).send(stream);
  }
}

/** The file under a name that may be shown: a client with a signed URL knows the name that stands in it. */
function named({ file, fields }: VisibleFile, otherwise: string): StoredFile {
  return childFieldTree(fields, 'name') === FULL_FIELD_TREE ? file : { ...file, name: otherwise };
}

function isMultipart({ headers }: FastifyRequest): boolean {
  return /^\s*multipart\/form-data\s*(?:;|$)/i.test(headers['content-type'] ?? '');
}

/** Rejects an idempotency key: a client that sends one would repeat the upload and expect a single file. */
function refuseKey({ headers }: FastifyRequest): void {
  if (headers['idempotency-key'] === undefined) return;
  throw new MillraceError('malformed-request', 'Idempotency-Key is not supported for uploads', {
    hint: 'Omit it; each upload creates new files, and sha256 identifies files that exist already',
  });
}

function refusedType({ headers, url }: FastifyRequest): MillraceError {
  const field = url.startsWith('/files/bulk') ? 'fields named files' : 'a field named file';
  const hint = `Send multipart/form-data with ${field}`;
  const sent = headers['content-type'];
  if (sent === undefined) return new MillraceError('body-required', 'The upload has no body', { hint });
  const type = sent.split(';', 1)[0]?.trim().slice(0, 80);
  return new MillraceError('unsupported-media-type', `The media type '${type}' is not supported here`, { hint });
}
