/**
 * The input of an HTTP function as JSON text: `{method, path, params, query, headers, body, text}`. Credentials of this
 * server are left out, so that code cannot store or forward them. Pure.
 */
import type { FastifyRequest } from 'fastify';
import { findInexactNumber, numberProblem } from '../../database/json/json-errors.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { hasBody, queryString } from '../../lib/request.ts';
import type { Endpoint } from '../endpoints/endpoint-table.ts';

/** The largest body of a call, in bytes. */
export const MAX_REQUEST_BODY_BYTES = 1024 * 1024;

/** Headers that authenticate the caller, here or at a proxy in front. WebSockets send their token as a protocol. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-api-key',
  'sec-websocket-protocol',
]);

const FORM = 'application/x-www-form-urlencoded';
const KNOWN = 'Send application/json, text/* or application/x-www-form-urlencoded';
/** Accepted charsets: US-ASCII is a subset of UTF-8. */
const CHARSETS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii']);

/** A body as the code receives it. */
interface CallBody {
  /** JSON text. */
  readonly json: string;
  /** As it was sent; null without a body. */
  readonly text: string | null;
}

const NO_BODY: CallBody = { json: 'null', text: null };

/** Options of an HTTP function that determine how a request becomes its input. */
export type FunctionInputOptions = Pick<Endpoint['options'], 'authorization' | 'largeNumbers'>;

/**
 * @param path as the manifest writes it: without `/fn`
 * @throws MillraceError `unsupported-media-type`, `malformed-json`, `json-too-deep`, `malformed-request`, `unsupported-value` for numbers that
 *   JavaScript cannot hold exactly, unless the rules give them as texts
 */
export function buildFunctionInput(
  request: Pick<FastifyRequest, 'method' | 'url' | 'headers' | 'body'>,
  path: string,
  params: Readonly<Record<string, string>>,
  rules: FunctionInputOptions = {},
): string {
  const { json, text } = bodyOf(request, rules);
  const isGiven = (name: string) =>
    !CREDENTIALS.has(name) || (name === 'authorization' && rules.authorization === 'own');
  const head = JSON.stringify({
    // HEAD is a GET whose response body is not sent.
    method: request.method === 'HEAD' ? 'GET' : request.method,
    path,
    params,
    query: grouped(new URLSearchParams(queryString(request))),
    headers: Object.fromEntries(Object.entries(request.headers).filter(([name]) => isGiven(name))),
  });
  return `${head.slice(0, -1)},"body":${json},"text":${text === null ? 'null' : JSON.stringify(text)}}`;
}

/** Names with their values; an array for a repeated name. Own properties, whatever the names are. */
function grouped(pairs: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of pairs) {
    const before = values.get(name);
    if (before === undefined) values.set(name, value);
    else if (typeof before === 'string') values.set(name, [before, value]);
    else before.push(value);
  }
  return Object.fromEntries(values);
}

function bodyOf({ headers, body }: Pick<FastifyRequest, 'headers' | 'body'>, rules: FunctionInputOptions): CallBody {
  const [type = '', ...parameters] = (headers['content-type'] ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase());
  if (!Buffer.isBuffer(body)) {
    // A body of another type was not parsed.
    if (hasBody({ headers }) && !isKnown(type)) throw unsupported(`The media type '${type.slice(0, 80)}'`);
    return NO_BODY;
  }
  const charset = parameters
    .find((part) => part.startsWith('charset='))
    ?.slice(8)
    .replaceAll('"', '');
  if (charset !== undefined && !CHARSETS.has(charset)) throw unsupported(`The character set '${charset.slice(0, 80)}'`);
  const text = decoded(body);
  // The byte order mark is not content. `text` keeps it, because signatures cover it.
  const content = text.startsWith('\ufeff') ? text.slice(1) : text;
  if (type === FORM) return { json: JSON.stringify(grouped(new URLSearchParams(content))), text };
  return { json: isJson(type) ? validJson(content, rules) : JSON.stringify(content), text };
}

function validJson(text: string, { largeNumbers }: FunctionInputOptions): string {
  const json = parsed(text);
  if (!LONG_NUMBER.test(text)) return json;
  if (largeNumbers === 'string') return parsed(withTexts(text));
  const issue = findInexactNumber(text);
  if (issue === null) return json;
  throw new MillraceError('unsupported-value', issue.detail, {
    issues: [issue],
    hint: 'Send it as text. With "largeNumbers": "string" in its manifest the function gets such numbers as texts',
  });
}

/** Candidates for numbers that JavaScript cannot represent exactly; most texts contain none. */
const LONG_NUMBER = /\d{16}|\d[eE]\+?\d{3}/;
/** Strings and numbers of a valid JSON text. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** The same JSON with such numbers as texts. */
function withTexts(text: string): string {
  return text.replace(TOKENS, (token) =>
    token.startsWith('"') || numberProblem(token) === null ? token : `"${token}"`,
  );
}

function parsed(text: string): string {
  try {
    return JSON.stringify(parseJsonExactNames(text));
  } catch (cause) {
    if (cause instanceof RangeError)
      throw new MillraceError('json-too-deep', 'The body is nested too deeply', { cause });
    throw new MillraceError('malformed-json', 'The body is not valid JSON', { cause });
  }
}

function decoded(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch (cause) {
    throw new MillraceError('malformed-request', 'The body is not UTF-8', { cause });
  }
}

const isJson = (type: string) => type === 'application/json' || /^application\/[\w.!#$&^-]+\+json$/.test(type);
const isKnown = (type: string) => isJson(type) || type === FORM || type.startsWith('text/');

function unsupported(what: string): MillraceError {
  return new MillraceError('unsupported-media-type', `${what} is not supported here`, { hint: KNOWN });
}
