/** Requests to Millrace with the credentials of a node, and its error responses as errors of n8n. */
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

type Requesting = IExecuteFunctions | IHookFunctions | ILoadOptionsFunctions;

export interface Request {
  readonly method: IHttpRequestMethods;
  /** Begins with `/`; its segments are already encoded (`segment`). */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** JSON as text, or bytes; `headers` override the JSON type. */
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** The index of the input item; included in errors. */
  readonly item?: number;
  /** An error status that is expected here. */
  readonly accepted?: number;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/**
 * Sends a request.
 * @throws NodeApiError when Millrace rejects it, with the text of its problem document (RFC 9457), or cannot be reached. The
 * error contains nothing of the request, because that carries the API key, and n8n shows and stores errors.
 */
export async function send(requesting: Requesting, request: Request): Promise<ApiResponse> {
  const { method, path, query = {}, body, headers = {}, item = 0, accepted } = request;
  const { baseUrl } = await requesting.getCredentials<{ baseUrl: string }>('millraceApi', item);
  const search = new URLSearchParams(query).toString();
  let response: IN8nHttpFullResponse;
  try {
    response = await requesting.helpers.httpRequestWithAuthentication.call(requesting, 'millraceApi', {
      method,
      url: `${baseUrl.replace(/\/+$/, '')}${path}${search === '' ? '' : `?${search}`}`,
      headers: { accept: 'application/json', ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body }),
      // Bytes, so that the body is not interpreted before its type and status were checked.
      encoding: 'arraybuffer',
      returnFullResponse: true,
      ignoreHttpStatusErrors: true,
      sendCredentialsOnCrossOriginRedirect: false,
    });
  } catch (error) {
    throw notReached(requesting.getNode(), error, item);
  }
  const result = { status: response.statusCode, headers: response.headers, body: bytes(response.body) };
  if (result.status >= 400 && result.status !== accepted) throw refused(requesting.getNode(), result, item);
  return result;
}

/** The same for a JSON response; undefined if its body is empty. */
export async function requestJson(requesting: Requesting, request: Request): Promise<unknown> {
  return parsed(requesting, await send(requesting, request), request.item);
}

/**
 * The JSON of a response; undefined if its body is empty.
 * @throws NodeApiError for other content: the base URL is that of another program
 */
export function parsed(requesting: Requesting, { status, body }: ApiResponse, item = 0): unknown {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    const description = 'Is the base URL of the credentials that of Millrace?';
    const problem = { message: error instanceof Error ? error.message : '' };
    const message = `The response with status ${status} is not JSON`;
    throw new NodeApiError(requesting.getNode(), problem, { message, description, itemIndex: item });
  }
}

/**
 * A value as one path segment.
 * @throws NodeOperationError when it is empty or a dot segment: the request would have another URL
 */
export function segment(requesting: Requesting, value: unknown, what: string, item = 0): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text === '' || text === '.' || text === '..') {
    throw new NodeOperationError(requesting.getNode(), `${what} is missing or cannot be part of a URL`, {
      itemIndex: item,
    });
  }
  return encodeURIComponent(text);
}

function bytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return typeof body === 'string' ? Buffer.from(body) : Buffer.alloc(0);
}

/** An error response in the text of its problem document. */
function refused(node: INode, { status, body }: ApiResponse, itemIndex: number): NodeApiError {
  const { title, detail, hint, code, request } = problemOf(body);
  const message = detail ?? title ?? `The server responded with status ${status}`;
  const facts = [code && `Code: ${code}`, request && `request: ${request}`].filter(Boolean).join(', ');
  const description = [detail && title && `${title}.`, hint && `${hint}.`, facts && `${facts}.`]
    .filter(Boolean)
    .join(' ');
  const fallback = 'The response is not from Millrace. Is the base URL of the credentials correct?';
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

/** The error of n8n for a request without a response contains the request with the key; only its message and code are kept. */
function notReached(node: INode, error: unknown, itemIndex: number): NodeApiError {
  const { message = 'The request failed', description, cause } = error as Partial<NodeApiError>;
  const code = (cause as IDataObject | undefined)?.code;
  const known = { message, ...(typeof code === 'string' ? { code } : {}) };
  const words =
    typeof description === 'string' ? description : 'Millrace cannot be reached at the base URL of the credentials';
  return new NodeApiError(node, known, { message, description: words, itemIndex });
}
