/**
 * HTTP functions: one route matches every method and path below `/fn`, and a table of functions resolves it, because
 * plugins change while the server runs. Policies on the resource `_functions` decide who may call.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientLimitKey } from '../../auth/identity/principal.ts';
import type { ServerMode } from '../../config/config.ts';
import { type ErrorOptions, MillraceError } from '../../lib/errors.ts';
import { excludeFromOpenApi } from '../../openapi/operation.ts';
import type { Policies } from '../../policies/policies.ts';
import type { StreamedResponses } from '../../policies/revalidation/streamed-responses.ts';
import { isInScope } from '../../policies/scope-filter.ts';
import {
  callErrorCause,
  callErrorHeaders,
  genericErrorMessage,
  maySeeErrorDetails,
} from '../calling/function-error.ts';
import type { EndpointCalls } from '../endpoints/endpoint-calls.ts';
import { type Endpoint, splitPath } from '../endpoints/endpoint-table.ts';
import { filterResponseHeaders } from '../endpoints/response-filter.ts';
import type { CallOutcome, FunctionResponse } from '../sandbox/sandbox.ts';
import { buildFunctionInput, MAX_REQUEST_BODY_BYTES } from './endpoint-request.ts';

/** Requests and responses above this size count against the client's memory limit, in bytes. */
const LARGE_BYTES = 64 * 1024;

const CALLS = '/fn/*';
const CONFIG = excludeFromOpenApi('The document lists each active HTTP function');

export interface CallRoutesOptions {
  readonly policies: Policies;
  readonly streamedResponses: StreamedResponses;
  readonly mode: ServerMode;
  readonly endpoints: EndpointCalls;
}

export async function callRoutes(
  app: FastifyInstance,
  { policies, streamedResponses, mode, endpoints }: CallRoutesOptions,
): Promise<void> {
  /** @throws MillraceError `not-authenticated`, `forbidden` as without any policy */
  const requireMay = ({ principal }: FastifyRequest, method: string, fn: Endpoint) => {
    const scope = policies.scope(principal, 'call', '_functions');
    const { name, plugin } = fn;
    if (isInScope(scope, { plugin: plugin.name, name, method: method === 'HEAD' ? 'GET' : method })) return;
    if (principal.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to call this function', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    throw new MillraceError('forbidden', `No policy allows calling '${fn.id}'`);
  };

  const find = (request: FastifyRequest) => {
    const path = pathOf(request);
    const match = endpoints.table.find(request.method, splitPath(path).map(decoded));
    if (match.kind === 'nothing') {
      throw new MillraceError('route-not-found', `No function exists at /fn${path.slice(0, 200)}`);
    }
    if (match.kind === 'other-methods') {
      throw new MillraceError('method-not-allowed', `${request.method} is not possible here`, {
        headers: { allow: match.allow },
      });
    }
    return { path, ...match };
  };

  const call = async (request: FastifyRequest, reply: FastifyReply) => {
    const { principal, method, ip } = request;
    // A caller without any permission to call functions learns nothing about which exist.
    policies.scope(principal, 'call', '_functions');
    const { path, fn, params } = find(request);
    requireMay(request, method, fn);
    const input = buildFunctionInput(request, path, params, fn.options);
    const held = input.length > LARGE_BYTES ? streamedResponses.begin(request, reply.raw, null, input.length) : null;
    const { outcome, run } = await endpoints.call(
      fn,
      principal,
      clientLimitKey(principal, ip),
      input,
      ownCredentials(request, fn),
    );
    const isReported = maySeeErrorDetails(principal, mode === 'development');
    const { status, headers, body } = toCallResponse(outcome, fn.id, isReported, run);
    const bytes = body?.length ?? 0;
    if (held !== null) held.resize(bytes);
    else if (bytes > LARGE_BYTES) streamedResponses.begin(request, reply.raw, null, bytes);
    // Caches must separate callers as for every response, and honor the function's own Vary.
    const { vary, ...others } = headers;
    if (vary !== undefined) reply.header('vary', `${reply.getHeader('vary')}, ${vary}`);
    return reply.code(status).headers(others).send(body);
  };

  app.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: CALLS,
    config: CONFIG,
    bodyLimit: MAX_REQUEST_BODY_BYTES,
    handler: call,
  });

  app.options(CALLS, { config: CONFIG }, async (request, reply) => {
    const path = pathOf(request);
    const allow = endpoints.table.allowed(splitPath(path).map(decoded));
    if (allow === null) throw new MillraceError('route-not-found', `No function exists at /fn${path.slice(0, 200)}`);
    return reply.code(204).header('allow', allow).send();
  });
}

/**
 * Whether a request is for an HTTP function that receives the `Authorization` header itself. Runs before any other
 * check, so an invalid path matches no function.
 */
export function usesCustomAuthorization(endpoints: Pick<EndpointCalls, 'table'>, request: FastifyRequest): boolean {
  if (request.routeOptions.url !== CALLS) return false;
  try {
    const match = endpoints.table.find(request.method, splitPath(pathOf(request)).map(decoded));
    return match.kind === 'found' && match.fn.options.authorization === 'own';
  } catch {
    return false;
  }
}

/** Credentials passed to the code, in the forms in which it may show them. They are not stored with runs. */
function ownCredentials({ headers }: FastifyRequest, { options }: Endpoint): readonly string[] {
  const { authorization } = headers;
  if (options.authorization !== 'own' || authorization === undefined) return [];
  const [, scheme = '', credential = ''] = /^(\S+)\s+(.*)$/.exec(authorization) ?? [];
  const basic = scheme.toLowerCase() === 'basic' ? Buffer.from(credential, 'base64').toString() : '';
  const password = basic.slice(basic.indexOf(':') + 1);
  return [authorization, credential, basic, password].filter((one) => one !== '');
}

/** The path after `/fn`, as it was sent. */
function pathOf({ url }: FastifyRequest): string {
  return (url.split('?', 1)[0] ?? '').slice('/fn'.length);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new MillraceError('malformed-request', 'The URL is not valid', { cause });
  }
}

/**
 * Content security policy for a response opened as a page: no scripts, and an opaque origin, so that it cannot reach
 * data that the browser stores for this origin.
 */
const SANDBOX = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox";

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export interface CallResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | undefined;
}

/**
 * @param fn `plugin/name`
 * @param isReported whether the client gets messages of the code (`maySeeErrorDetails`)
 * @param run id of the run, if it is stored
 * @throws MillraceError for a failed call (a `CallErrorCode`) and for a Refusal (`rejected-by-function`)
 */
export function toCallResponse(
  outcome: CallOutcome,
  fn: string,
  isReported: boolean,
  run: string | null,
): CallResponse {
  const named: Record<string, string> = run === null ? {} : { 'millrace-run': run };
  const options: ErrorOptions = { headers: named };
  switch (outcome.kind) {
    case 'value':
      return {
        status: 200,
        headers: { 'content-type': 'application/json; charset=utf-8', 'content-security-policy': SANDBOX, ...named },
        body: outcome.value,
      };
    case 'response':
      return toResponse(outcome.response, named);
    case 'refusal':
      throw new MillraceError('rejected-by-function', outcome.message, options);
    case 'error': {
      const { code, message } = outcome;
      const headers = { ...named, ...callErrorHeaders(code) };
      const reported = isReported ? message : genericErrorMessage(code, 'The function');
      throw new MillraceError(code, reported, { headers, cause: callErrorCause(outcome, fn) });
    }
    default:
      return outcome satisfies never;
  }
}

function toResponse(
  { status, headers, body, base64 }: FunctionResponse,
  named: Readonly<Record<string, string>>,
): CallResponse {
  const sent = filterResponseHeaders(headers);
  const hasBody = body !== null && !WITHOUT_BODY.has(status);
  const type = sent['content-type'] ?? (base64 ? 'application/octet-stream' : 'text/plain; charset=utf-8');
  const { 'content-type': _type, ...others } = sent;
  return {
    status,
    headers: {
      ...others,
      ...(hasBody ? { 'content-type': type } : {}),
      'content-security-policy': SANDBOX,
      ...named,
    },
    body: hasBody ? (base64 ? Buffer.from(body, 'base64') : body) : undefined,
  };
}
