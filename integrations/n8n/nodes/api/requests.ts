/**
 * Requests to Millrace with the credentials of a node, and its refusals as errors of n8n. Not here: what is asked for (the
 * operations in nodes/Millrace, the hooks in nodes/MillraceTrigger).
 */
import {
  type IDataObject,
  type IExecuteFunctions,
  type IHookFunctions,
  type IHttpRequestMethods,
  type ILoadOptionsFunctions,
  type IN8nHttpFullResponse,
  type INode,
  NodeApiError,
  NodeOperationError,
} from 'n8n-workflow';

type Asking = IExecuteFunctions | IHookFunctions | ILoadOptionsFunctions;

export interface Request {
  readonly method: IHttpRequestMethods;
  /** Begins with `/`; its parts are encoded already (`segment`). */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** JSON as text, or bytes; `headers` name another type than JSON. */
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Which item of the input it is for; names it in errors. */
  readonly item?: number;
  /** A status that is no error here although it is one of a refusal. */
  readonly accepted?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/**
 * Sends a request.
 * @throws NodeApiError when Millrace refuses it, with the words of its problem document (RFC 9457), or cannot be reached. The
 *   error holds nothing of the request, because the request carries the API key and n8n shows and stores errors.
 */
export async function ask(asking: Asking, request: Request): Promise<Answer> {
  const { method, path, query = {}, body, headers = {}, item = 0, accepted } = request;
  const { baseUrl } = await asking.getCredentials<{ baseUrl: string }>('millraceApi', item);
  const search = new URLSearchParams(query).toString();
  let response: IN8nHttpFullResponse;
  try {
    response = await asking.helpers.httpRequestWithAuthentication.call(asking, 'millraceApi', {
      method,
      url: `${baseUrl.replace(/\/+$/, '')}${path}${search === '' ? '' : `?${search}`}`,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body }),
      // Bytes, so that nothing is guessed of a body before its type and its status were looked at.
      encoding: 'arraybuffer',
      returnFullResponse: true,
      ignoreHttpStatusErrors: true,
      sendCredentialsOnCrossOriginRedirect: false,
    });
  } catch (error) {
    throw notReached(asking.getNode(), error, item);
  }
  const answer = { status: response.statusCode, headers: response.headers, body: bytes(response.body) };
  if (answer.status >= 400 && answer.status !== accepted) throw refused(asking.getNode(), answer, item);
  return answer;
}

/** The same for an answer of JSON; undefined when its body is empty. */
export async function askJson(asking: Asking, request: Request): Promise<unknown> {
  return parsed(asking, await ask(asking, request), request.item);
}

/**
 * The JSON of an answer; undefined when its body is empty.
 * @throws NodeApiError when it is something else: the base URL leads to another program
 */
export function parsed(asking: Asking, { status, body }: Answer, item = 0): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    const description = 'Does the base URL of the credentials lead to Millrace?';
    const problem = { message: error instanceof Error ? error.message : '' };
    const message = `The answer with status ${status} is not JSON`;
    throw new NodeApiError(asking.getNode(), problem, { message, description, itemIndex: item });
  }
}

/**
 * A value as one part of a path.
 * @throws NodeOperationError when it is empty or a step in a path: the request would be for another address
 */
export function segment(asking: Asking, value: unknown, what: string, item = 0): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text === '' || text === '.' || text === '..') {
    throw new NodeOperationError(asking.getNode(), `${what} is missing or cannot be part of an address`, {
      itemIndex: item,
    });
  }
  return encodeURIComponent(text);
}

function bytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return typeof body === 'string' ? Buffer.from(body) : Buffer.alloc(0);
}

/** A refusal in the words of the problem document. */
function refused(node: INode, { status, body }: Answer, itemIndex: number): NodeApiError {
  const { title, detail, hint, code, request } = problemOf(body);
  const message = detail ?? title ?? `The server answered with status ${status}`;
  const facts = [code && `Code: ${code}`, request && `request: ${request}`].filter(Boolean).join(', ');
  const description = [detail && title && `${title}.`, hint && `${hint}.`, facts && `${facts}.`]
    .filter(Boolean)
    .join(' ');
  const fallback = 'The answer is not one of Millrace. Does the base URL of the credentials lead to it?';
  const shown = { message, description: description || fallback, httpCode: String(status), itemIndex };
  return new NodeApiError(node, { message, code: code ?? null, status }, shown);
}

function problemOf(body: Buffer): Partial<Record<'title' | 'detail' | 'hint' | 'code' | 'request', string>> {
  const found: unknown = body.toString('utf8').startsWith('{') ? safely(body.toString('utf8')) : {};
  const texts = Object.entries(found ?? {}).filter(([, value]) => typeof value === 'string' && value !== '');
  return Object.fromEntries(texts);
}

function safely(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** What n8n says of a request without an answer holds the request, and that the key; only its message and its code are kept. */
function notReached(node: INode, error: unknown, itemIndex: number): NodeApiError {
  const { message = 'The request failed', description, cause } = error as Partial<NodeApiError>;
  const code = (cause as IDataObject | undefined)?.code;
  const known = { message, ...(typeof code === 'string' ? { code } : {}) };
  const words =
    typeof description === 'string' ? description : 'Millrace cannot be reached at the base URL of the credentials';
  return new NodeApiError(node, known, { message, description: words, itemIndex });
}
