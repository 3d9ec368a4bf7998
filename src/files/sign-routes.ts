/**
 * Makes a signed address of a file over HTTP, for principals that may read the file. Not here: the signature
 * (signature.ts).
 */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { Check } from 'typebox/schema';
import { ASKED_ERRORS, jsonBody, operation } from '../contract/operation.ts';
import { TIME } from '../contract/schema.ts';
import { MillraceError } from '../kernel/errors.ts';
import { hasBody, parameters, requestBase, requireMediaType } from '../kernel/request.ts';
import type { Policies } from '../policies/policies.ts';
import { FILE_ID } from './file-operations.ts';
import type { Files } from './files.ts';
import { LONGEST_S, signedQuery } from './signature.ts';
import { seenResource } from './visible-file.ts';

/** Seconds. A signed address cannot be revoked before it ends. */
const DEFAULT_S = 300;

const SIGN = Type.Object(
  {
    expiresIn: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LONGEST_S,
        default: DEFAULT_S,
        description: 'Seconds for which it is valid.',
      }),
    ),
  },
  { additionalProperties: false },
);

const OPERATION = operation({
  id: 'files.sign',
  tag: 'Files',
  summary: 'Make a signed address of the bytes, which needs no credential for a while',
  parameters: [FILE_ID],
  body: jsonBody(SIGN),
  answers: {
    200: {
      description: 'The address, and when it ends.',
      schema: Type.Object({ url: Type.String(), expiresAt: TIME }),
    },
  },
  errors: [...ASKED_ERRORS, 'file-not-found'],
});

export interface SignRoutesOptions {
  readonly files: Files;
  readonly policies: Policies;
  readonly publicUrl: string | undefined;
}

interface OnFile {
  Params: { id: string };
}

export async function signRoutes(app: FastifyInstance, options: SignRoutesOptions): Promise<void> {
  const { files, policies, publicUrl } = options;

  app.post<OnFile>('/files/:id/sign', { config: OPERATION }, async (request) => {
    parameters(request, []);
    // A body of another type is refused: it would not be read, and its wishes would be ignored silently.
    if (hasBody(request)) requireMediaType(request, ['application/json']);
    const scope = policies.scope(request.principal, 'get', 'files');
    const asked: unknown = request.body ?? {};
    if (!Check(SIGN, asked)) {
      throw new MillraceError('body-type', `"expiresIn" must be a whole number of seconds from 1 to ${LONGEST_S}`);
    }
    const seen = await files.get(scope, request.params.id);
    const expires = Math.floor(Date.now() / 1_000) + (asked.expiresIn ?? DEFAULT_S);
    const { url } = seenResource(seen, publicUrl ?? requestBase(request));
    const query = signedQuery(files.addressKeys.signing, seen.file.key, expires);
    return { url: `${url}?${query}`, expiresAt: new Date(expires * 1_000).toISOString() };
  });
}
