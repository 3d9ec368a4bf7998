/**
 * One operation of the contract: its parameters, its answers, and its refusals by their codes, which bring status and
 * title from the closed table. Pure. Not here: the operations themselves (documents.ts).
 */
import { ERRORS, type ErrorCode } from '../../kernel/errors.ts';
import type { Parameter } from './parameters.ts';
import { HEADERS, ref } from './shapes.ts';

export interface Answer {
  readonly description: string;
  /** Schema of a JSON body, or media types with their schemas; none for no body. */
  readonly schema?: object;
  readonly content?: Readonly<Record<string, object>>;
  readonly headers?: readonly string[];
}

/** A component that stands elsewhere. */
export interface Reference {
  readonly $ref: string;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
}

export interface OperationPlan extends Omit<Operation, 'responses' | 'tags'> {
  readonly tag: string;
  readonly answers: Readonly<Record<number, Answer>>;
  readonly errors: readonly ErrorCode[];
}

/** What any request may meet. */
const ANYWHERE: readonly ErrorCode[] = [
  'malformed-request',
  'invalid-credential',
  'not-authenticated',
  'forbidden',
  'route-not-found',
  'uri-too-long',
  'rate-limited',
  'headers-too-large',
  'internal',
  'database-unavailable',
  'query-timeout',
  'policies-unavailable',
  'overloaded',
  'shutting-down',
];

/** What a JSON body may meet. */
export const BODY: readonly ErrorCode[] = [
  'malformed-json',
  'body-required',
  'body-type',
  'unsupported-key',
  'unsupported-value',
  'too-deep',
  'request-timeout',
  'body-too-large',
  'document-too-large',
  'unsupported-media-type',
];

/** Headers that come with a refusal of a status. */
const REFUSAL_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  409: ['Retry-After'],
  412: ['ETag'],
  415: ['Accept-Patch'],
  416: ['Content-Range'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

/** Refusals that are kept under an idempotency key: those that would be the same again. */
const KEPT: ReadonlySet<number> = new Set([400, 404, 409, 412, 413]);

export function toOperation({ tag, answers, errors, ...plan }: OperationPlan): Operation {
  const responses: Record<string, object> = {};
  for (const [status, answer] of Object.entries(answers)) responses[status] = toResponse(answer);
  const codes = new Map<number, ErrorCode[]>();
  for (const code of new Set([...errors, ...ANYWHERE])) {
    const { status } = ERRORS[code];
    codes.set(status, [...(codes.get(status) ?? []), code]);
  }
  const keyed = errors.includes('key-reused');
  for (const [status, some] of [...codes].sort(([a], [b]) => a - b)) {
    responses[status] = sharedRefusal(status, some, keyed && KEPT.has(status));
  }
  return { ...plan, tags: [tag], responses };
}

function toResponse({ description, schema, content, headers = [] }: Answer): object {
  const media = content ?? (schema === undefined ? undefined : { 'application/json': schema });
  return {
    description,
    headers: headersOf(headers),
    ...(media === undefined
      ? {}
      : { content: Object.fromEntries(Object.entries(media).map(([type, shape]) => [type, { schema: shape }])) }),
  };
}

/** The same object for the same codes: there are few combinations, and each is used many times. */
const refusals = new Map<string, object>();

function sharedRefusal(status: number, codes: readonly ErrorCode[], kept: boolean): object {
  const key = `${kept} ${codes.join(' ')}`;
  const known = refusals.get(key) ?? refusal(status, codes, kept);
  refusals.set(key, known);
  return known;
}

function refusal(status: number, codes: readonly ErrorCode[], kept: boolean): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join('\n'),
    headers: headersOf([...(REFUSAL_HEADERS[status] ?? []), ...(kept ? ['Idempotency-Replayed'] : [])]),
    content: {
      'application/problem+json': {
        schema: { allOf: [ref('Problem'), { properties: { status: { const: status }, code: { enum: codes } } }] },
      },
    },
  };
}

function headersOf(names: readonly string[]): object {
  const all = ['X-Request-Id', ...names].filter((name) => name in HEADERS);
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
