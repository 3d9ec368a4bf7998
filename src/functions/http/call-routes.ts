/**
 * Endpoints over HTTP: every method and path below `/fn` is one route, and the table of endpoints says whose it is, because
 * plugins come and go while the server runs. Policies on the place `functions` decide who may call. Not here: the call
 * itself (kinds/endpoints).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientOf } from '../../auth/identity/principal.ts';
import { outsideContract } from '../../contract/operation.ts';
import type { Mode } from '../../kernel/config/config.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../../policies/policies.ts';
import { reaches } from '../../policies/reach.ts';
import type { LongAnswers } from '../../policies/standing/long-answers.ts';
import { isToldFaults } from '../calling/fault-error.ts';
import type { EndpointCalls } from '../kinds/endpoints/endpoint-calls.ts';
import { type Endpoint, segmentsOf } from '../kinds/endpoints/endpoint-table.ts';
import { answerOf } from './call-answer.ts';
import { callInput, MAX_CALL_BYTES } from './call-input.ts';

/** Inputs and answers above this size are counted as memory that is held for their client, in bytes. */
const LARGE_BYTES = 64 * 1024;

const CALLS = '/fn/*';
const CONFIG = outsideContract('The endpoints in force are told one by one');

export interface CallRoutesOptions {
  readonly policies: Policies;
  readonly longAnswers: LongAnswers;
  readonly mode: Mode;
  readonly functions: { readonly endpoints: EndpointCalls };
}

export async function callRoutes(
  app: FastifyInstance,
  { policies, longAnswers, mode, functions: { endpoints } }: CallRoutesOptions,
): Promise<void> {
  /** @throws MillraceError `not-authenticated`, `forbidden` as without any policy */
  const requireMay = ({ principal }: FastifyRequest, method: string, fn: Endpoint) => {
    const scope = policies.scope(principal, 'call', 'functions');
    const { name, plugin } = fn;
    if (reaches(scope, { plugin: plugin.name, name, method: method === 'HEAD' ? 'GET' : method })) return;
    if (principal.kind === 'anonymous') {
      throw new MillraceError('not-authenticated', 'Sign in to call this function', {
        headers: { 'www-authenticate': 'Bearer realm="millrace"' },
      });
    }
    throw new MillraceError('forbidden', `No policy allows calling '${fn.id}'`);
  };

  const find = (request: FastifyRequest) => {
    const path = pathOf(request);
    const match = endpoints.table.find(request.method, segmentsOf(path).map(decoded));
    if (match.kind === 'nothing') {
      throw new MillraceError('route-not-found', `No function is at /fn${path.slice(0, 200)}`);
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
    // Whoever may call nothing at all does not learn what there is.
    policies.scope(principal, 'call', 'functions');
    const { path, fn, params } = find(request);
    requireMay(request, method, fn);
    const input = callInput(request, path, params, fn.use);
    const held = input.length > LARGE_BYTES ? longAnswers.begin(request, reply.raw, null, input.length) : null;
    const { outcome, run } = await endpoints.call(
      fn,
      principal,
      clientOf(principal, ip),
      input,
      ownCredentials(request, fn),
    );
    const isTold = isToldFaults(principal, mode === 'development');
    const { status, headers, body } = answerOf(outcome, fn.id, isTold, run);
    const bytes = body?.length ?? 0;
    if (held !== null) held.resize(bytes);
    else if (bytes > LARGE_BYTES) longAnswers.begin(request, reply.raw, null, bytes);
    // Caches have to tell readers apart as for every response here, and besides by what the function says.
    const { vary, ...others } = headers;
    if (vary !== undefined) reply.header('vary', `${reply.getHeader('vary')}, ${vary}`);
    return reply.code(status).headers(others).send(body);
  };

  app.route({
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: CALLS,
    config: CONFIG,
    bodyLimit: MAX_CALL_BYTES,
    handler: call,
  });

  app.options(CALLS, { config: CONFIG }, async (request, reply) => {
    const path = pathOf(request);
    const allow = endpoints.table.allowed(segmentsOf(path).map(decoded));
    if (allow === null) throw new MillraceError('route-not-found', `No function is at /fn${path.slice(0, 200)}`);
    return reply.code(204).header('allow', allow).send();
  });
}

/**
 * Whether a request is for an endpoint whose code gets the header `Authorization` itself. Asked before anything else of the
 * request, so what is not a path is nobody's.
 */
export function takesOwnAuthorization(endpoints: Pick<EndpointCalls, 'table'>, request: FastifyRequest): boolean {
  if (request.routeOptions.url !== CALLS) return false;
  try {
    const match = endpoints.table.find(request.method, segmentsOf(pathOf(request)).map(decoded));
    return match.kind === 'found' && match.fn.use.authorization === 'own';
  } catch {
    return false;
  }
}

/** What is kept with no run: the credential that the code gets, in the forms in which it may show it. */
function ownCredentials({ headers }: FastifyRequest, { use }: Endpoint): readonly string[] {
  const { authorization } = headers;
  if (use.authorization !== 'own' || authorization === undefined) return [];
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
    throw new MillraceError('malformed-request', 'The address is not a valid URL', { cause });
  }
}
