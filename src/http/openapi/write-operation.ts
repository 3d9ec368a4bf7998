/**
 * Writes a declared operation as OpenAPI: its parameters, its answers, and its refusals by their codes, with status and
 * title from the closed table. Pure. Not here: the operations themselves (next to their routes).
 */
import Type from 'typebox';
import { WHOM } from '../../auth/identity/whom.ts';
import type { HeaderName } from '../../contract/headers.ts';
import type { Answer, Operation } from '../../contract/operation.ts';
import { headerParameter } from '../../contract/parameters.ts';
import { shape } from '../../contract/schema.ts';
import { ERRORS, type ErrorCode } from '../../kernel/errors.ts';
import type { Components, Reference } from './components.ts';

/** OpenAPI's Operation Object. */
export interface WrittenOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly Reference[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

const PROBLEM = shape(
  'Problem',
  Type.Object(
    {
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer({ minimum: 400, maximum: 599 }),
      code: Type.Unsafe<string>({ enum: Object.keys(ERRORS) }),
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
    { description: 'A failure (RFC 9457). `code` is stable; `errors` name places as JSON Pointers (RFC 6901).' },
  ),
);

/** Errors that any request may get. */
const ANYWHERE: readonly ErrorCode[] = [
  'malformed-request',
  'invalid-credential',
  'not-authenticated',
  'forbidden',
  'factor-required',
  'route-not-found',
  'uri-too-long',
  'misdirected-request',
  'rate-limited',
  'too-much-held',
  'headers-too-large',
  'internal',
  'database-unavailable',
  'query-timeout',
  'policies-unavailable',
  'overloaded',
  'shutting-down',
];

/** As whom an owner reads, and the errors of that. */
const AS = headerParameter(
  'Millrace-As',
  'For owners: the answer as this principal gets it, `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`.',
  { type: 'string', pattern: WHOM.source },
);
const AS_ERRORS: readonly ErrorCode[] = ['document-not-found'];

/** Headers that come with a refusal of a status. */
const REFUSAL_HEADERS: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  412: ['ETag'],
  415: ['Accept-Patch'],
  416: ['Content-Range'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Refusals that are kept under an idempotency key: a second try would get the same. */
const KEPT: ReadonlySet<number> = new Set([400, 404, 409, 412, 413]);

/** @param collection the one it is written for; undefined for any, and for operations on no collection */
export function writeOperation(declared: Operation, components: Components, collection?: string): WrittenOperation {
  const { id, tag, summary, description, body, bodyOptional, answers, as } = declared;
  const parameters = [...(declared.parameters ?? []), ...(as === true ? [AS] : [])];
  const errors = as === true ? [...declared.errors, ...AS_ERRORS] : declared.errors;
  const own = collection === undefined ? parameters : parameters.filter(({ name }) => name !== 'collection');
  const responses: Record<string, object> = {};
  for (const [status, answer] of Object.entries(answers)) responses[status] = writeAnswer(answer, components);
  const keyed = errors.includes('key-reused');
  for (const [status, codes] of byStatus([...errors, ...ANYWHERE])) {
    const kept = keyed && KEPT.has(status);
    const make = () => refusal(status, codes, kept, components);
    responses[status] = components.response(String(status), `${kept} ${codes.join(' ')}`, make);
  }
  return {
    operationId: collection === undefined ? id : `${collection}.${id}`,
    tags: [collection ?? tag],
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

function writeAnswer({ description, schema, content, headers = [] }: Answer, components: Components): object {
  const media = content ?? (schema === undefined ? undefined : { 'application/json': schema });
  return {
    description,
    headers: headersOf(headers),
    ...(media === undefined ? {} : { content: contentOf(media, components) }),
  };
}

function contentOf(media: Readonly<Record<string, object>>, components: Components): object {
  const entries = Object.entries(media).map(([type, schema]) => [type, { schema: components.schema(schema) }]);
  return Object.fromEntries(entries);
}

function refusal(status: number, codes: readonly ErrorCode[], kept: boolean, components: Components): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join('\n'),
    headers: headersOf([...(REFUSAL_HEADERS[status] ?? []), ...(kept ? (['Idempotency-Replayed'] as const) : [])]),
    content: {
      'application/problem+json': {
        schema: components.schema({
          allOf: [PROBLEM, { properties: { status: { const: status }, code: { enum: codes } } }],
        }),
      },
    },
  };
}

function headersOf(names: readonly HeaderName[]): object {
  const all: readonly HeaderName[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
