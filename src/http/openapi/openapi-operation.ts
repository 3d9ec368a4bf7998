/**
 * Writes a declared operation as OpenAPI: its parameters, its responses, and its errors by their codes, with status and
 * title from the closed table. Pure.
 */
import Type from 'typebox';
import { IMPERSONATION_TARGET_PATTERN } from '../../auth/identity/parse-impersonation-target.ts';
import { ERRORS, type ErrorCode } from '../../lib/errors.ts';
import type { ResponseHeaderName } from '../../openapi/headers.ts';
import type { ApiResponse, Operation } from '../../openapi/operation.ts';
import { headerParameter } from '../../openapi/parameters.ts';
import { namedSchema } from '../../openapi/schema.ts';
import type { OpenApiComponents, OpenApiReference } from './components.ts';

/** OpenAPI's Operation Object. */
export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly OpenApiReference[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

const ERROR_CODE = namedSchema('ErrorCode', {
  type: 'string',
  enum: Object.keys(ERRORS),
  description: 'What went wrong. The list is closed.',
});

/** The one schema of all errors: which codes a response can have is in its description. */
const PROBLEM = namedSchema(
  'Problem',
  Type.Object(
    {
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer({ minimum: 400, maximum: 599 }),
      code: Type.Unsafe<string>(ERROR_CODE),
      detail: Type.String(),
      hint: Type.Optional(Type.String()),
      instance: Type.Optional(Type.String()),
      request: Type.Optional(Type.String()),
      failedOperation: Type.Optional(Type.Integer({ minimum: 0 })),
      errors: Type.Optional(
        Type.Array(
          Type.Object({
            pointer: Type.String(),
            code: Type.String(),
            detail: Type.String(),
            file: Type.Optional(Type.String()),
            line: Type.Optional(Type.Integer({ minimum: 1 })),
            column: Type.Optional(Type.Integer({ minimum: 1 })),
          }),
        ),
      ),
    },
    { description: 'An error (RFC 9457). `code` is stable; `errors` have positions as JSON Pointers (RFC 6901).' },
  ),
);

/** Errors of any request. */
const ANYWHERE: readonly ErrorCode[] = [
  'malformed-request',
  'invalid-token',
  'not-authenticated',
  'forbidden',
  'mfa-enrollment-required',
  'route-not-found',
  'uri-too-long',
  'misdirected-request',
  'rate-limited',
  'client-memory-exceeded',
  'headers-too-large',
  'internal',
  'database-unavailable',
  'query-timeout',
  'policies-unavailable',
  'overloaded',
  'shutting-down',
];

/** Impersonation by administrators, and its errors. */
const AS = headerParameter(
  'Millrace-As',
  'For administrators: the response that this principal gets, `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`.',
  { type: 'string', pattern: IMPERSONATION_TARGET_PATTERN.source },
);
const AS_ERRORS: readonly ErrorCode[] = ['user-not-found', 'api-key-not-found'];

/** Additional headers of an error with a status. */
const REFUSAL_HEADERS: Readonly<Record<number, readonly ResponseHeaderName[]>> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  412: ['ETag'],
  415: ['Accept-Patch'],
  416: ['Content-Range'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Errors that are stored for an idempotency key: a retry would get the same. */
const KEPT: ReadonlySet<number> = new Set([400, 404, 409, 412, 413]);

/** A collection that operations are written for. */
export interface NamedCollection {
  readonly tag: string;
  /** Its name in names of operations and schemas. */
  readonly title: string;
}

/** @param collection the one it is written for; undefined for any, and for operations on no collection */
export function writeOpenApiOperation(
  declared: Operation,
  components: OpenApiComponents,
  collection?: NamedCollection,
): OpenApiOperation {
  const { id, tag, summary, description, body, bodyOptional, responses: results, as } = declared;
  const parameters = [...(declared.parameters ?? []), ...(as === true ? [AS] : [])];
  const errors = as === true ? [...declared.errors, ...AS_ERRORS] : declared.errors;
  const own = collection === undefined ? parameters : parameters.filter(({ name }) => name !== 'collection');
  const responses: Record<string, object> = {};
  for (const [status, response] of Object.entries(results)) responses[status] = writeResponse(response, components);
  const keyed = errors.includes('idempotency-key-reused');
  for (const [status, codes] of byStatus([...errors, ...ANYWHERE])) {
    const kept = keyed && KEPT.has(status);
    const make = () => refusal(status, codes, kept, components);
    responses[status] = components.response(`Problem${status}`, `${kept} ${codes.join(' ')}`, make);
  }
  return {
    operationId: collection === undefined ? id : id.replace('Document', `${collection.title}Document`),
    tags: [collection?.tag ?? tag],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(own.length === 0 ? {} : { parameters: own.map((one) => components.parameter(one)) }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: bodyOptional !== true, content: contentOf(body, components) } }),
    responses,
  };
}

function byStatus(codes: readonly ErrorCode[]): [number, ErrorCode[]][] {
  const found = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = ERRORS[code];
    found.set(status, [...(found.get(status) ?? []), code]);
  }
  return [...found].sort(([a], [b]) => a - b);
}

function writeResponse(
  { description, schema, content, headers = [] }: ApiResponse,
  components: OpenApiComponents,
): object {
  const media = content ?? (schema === undefined ? undefined : { 'application/json': schema });
  return {
    description,
    headers: headersOf(headers, components),
    ...(media === undefined ? {} : { content: contentOf(media, components) }),
  };
}

function contentOf(media: Readonly<Record<string, object>>, components: OpenApiComponents): object {
  const entries = Object.entries(media).map(([type, schema]) => [type, { schema: components.schema(schema) }]);
  return Object.fromEntries(entries);
}

function refusal(status: number, codes: readonly ErrorCode[], kept: boolean, components: OpenApiComponents): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join('\n'),
    'x-error-codes': codes,
    headers: headersOf(
      [...(REFUSAL_HEADERS[status] ?? []), ...(kept ? (['Idempotency-Replayed'] as const) : [])],
      components,
    ),
    content: {
      'application/problem+json': {
        schema: components.schema(PROBLEM),
      },
    },
  };
}

function headersOf(names: readonly ResponseHeaderName[], components: OpenApiComponents): object {
  const all: readonly ResponseHeaderName[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, components.header(name)]));
}
