/**
 * Makes a signed URL of a file over HTTP, for principals that may read the file.
 */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { Check } from 'typebox/schema';
import { MillraceError } from '../lib/errors.ts';
import { hasBody, parseQueryParameters, requestBaseUrl, requireMediaType } from '../lib/request.ts';
import { declareOperation, jsonBody, QUERY_PARAMETER_ERRORS } from '../openapi/operation.ts';
import { DATE_TIME_SCHEMA } from '../openapi/schema.ts';
import type { Policies } from '../policies/policies.ts';
import { FILE_ID } from './file-openapi.ts';
import type { Files } from './files.ts';
import { MAX_URL_LIFETIME_S, signedQuery } from './signed-urls.ts';
import { toVisibleResource } from './visible-file.ts';

/** Seconds. A signed URL cannot be revoked before it ends. */
const DEFAULT_S = 300;

const SIGN = Type.Object(
  {
    expiresIn: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_URL_LIFETIME_S,
        default: DEFAULT_S,
        description: 'Validity in seconds.',
      }),
    ),
  },
  { additionalProperties: false },
);

const OPERATION = declareOperation({
  id: 'createSignedUrl',
  tag: 'files',
  summary: 'Make a signed URL of the bytes, which needs no credential for a while',
  parameters: [FILE_ID],
  body: jsonBody(SIGN),
  responses: {
    200: {
      description: 'The URL, and when it expires.',
      schema: Type.Object({ url: Type.String(), expiresAt: DATE_TIME_SCHEMA }),
    },
  },
  errors: [...QUERY_PARAMETER_ERRORS, 'file-not-found'],
});

export interface SignedUrlRoutesOptions {
  readonly files: Files;
  readonly policies: Policies;
  readonly publicUrl: string | undefined;
}

interface OnFile {
  Params: { id: string };
}

export async function signedUrlRoutes(app: FastifyInstance, options: SignedUrlRoutesOptions): Promise<void> {
  const { files, policies, publicUrl } = options;

  app.post<OnFile>('/files/:id/sign', { config: OPERATION }, async (request) => {
    parseQueryParameters(request, []);
    // A body of another type is rejected: it would not be parsed, and its options would be ignored silently.
    if (hasBody(request)) requireMediaType(request, ['application/json']);
    const scope = policies.scope(request.principal, 'get', '_files');
    const requested: unknown = request.body ?? {};
    if (!Check(SIGN, requested)) {
      throw new MillraceError(
        'invalid-body-type',
        `"expiresIn" must be a whole number of seconds from 1 to ${MAX_URL_LIFETIME_S}`,
      );
    }
    const seen = await files.get(scope, request.params.id);
    const expires = Math.floor(Date.now() / 1_000) + (requested.expiresIn ?? DEFAULT_S);
    const { url } = toVisibleResource(seen, publicUrl ?? requestBaseUrl(request));
    const query = signedQuery(files.signedUrlKeys.signing, seen.file.key, expires);
    return { url: `${url}?${query}`, expiresAt: new Date(expires * 1_000).toISOString() };
  });
}
