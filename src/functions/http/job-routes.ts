/** Jobs over HTTP, for administrators: list and cancel. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { stampFromPrincipal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { declareOperation, NO_CONTENT_RESPONSE, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { idParameter, PAGE_CURSOR_PARAMETER, pageLimitParameter } from '../../openapi/parameters.ts';
import { arraySchema, DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { Jobs } from '../queue/jobs.ts';

const MAX_JOBS_PER_PAGE = 1_000;

const tag = 'functions';

const JOB_SHAPE = namedSchema(
  'ScheduledJob',
  Type.Object({
    id: Type.String({ description: 'Id of its run.' }),
    plugin: Type.String(),
    function: Type.String({ description: 'Its name inside the plugin.' }),
    state: Type.Unsafe<string>({ type: 'string', enum: ['pending', 'running'] }),
    scheduledAt: DATE_TIME_SCHEMA,
    attempts: Type.Integer({ minimum: 0, description: 'How many attempts have begun.' }),
    nextAttemptAt: nullable(DATE_TIME_SCHEMA),
    createdAt: DATE_TIME_SCHEMA,
  }),
);

const JOB_OPERATIONS = {
  list: declareOperation({
    id: 'listJobs',
    tag,
    summary: 'List unfinished jobs',
    description: 'Jobs scheduled by `ctx.schedule`. Finished jobs are in the list of runs.',
    parameters: [pageLimitParameter(MAX_JOBS_PER_PAGE), PAGE_CURSOR_PARAMETER],
    responses: {
      200: {
        description: 'A page, the next job first.',
        schema: arraySchema(JOB_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...QUERY_PARAMETER_ERRORS, 'invalid-parameter', 'cursor-mismatch'],
  }),
  cancel: declareOperation({
    id: 'cancelJob',
    tag,
    summary: 'Cancel a pending job',
    description: 'Its run is kept as canceled.',
    parameters: [idParameter('id', 'the job', 'jobId')],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'scheduled-job-not-found'],
  }),
};

const URL = '/admin/jobs';
const DEFAULT_JOBS_PER_PAGE = 100;

export interface JobRoutesOptions {
  readonly policies: Policies;
  readonly jobs: Jobs;
}

interface OnJob {
  Params: { id: string };
}

export async function jobRoutes(app: FastifyInstance, { policies, jobs }: JobRoutesOptions): Promise<void> {
  app.get(URL, { config: JOB_OPERATIONS.list }, async (request, reply) => {
    policies.scope(request.principal, 'read', '_admin');
    const { limit, cursor } = parseJobQuery(request);
    const found = await jobs.list(limit + 1, cursor ?? undefined);
    const page = found.slice(0, limit);
    const next = found.length > limit ? (page.at(-1)?.id ?? null) : null;
    const links = pageLinks(request.url, { next: next === null ? null : encodeURIComponent(next), prev: null });
    if (links !== null) reply.header('link', links);
    if (next !== null) reply.header('millrace-next', next);
    return page;
  });

  app.delete<OnJob>(`${URL}/:id`, { config: JOB_OPERATIONS.cancel }, async (request, reply) => {
    parseQueryParameters(request, []);
    const scope = policies.scope(request.principal, 'delete', '_admin');
    await jobs.cancel(request.params.id, stampFromPrincipal(scope, request.id));
    return reply.code(204).send();
  });
}

/** @throws MillraceError `unknown-parameter`, `invalid-parameter` */
function parseJobQuery(request: FastifyRequest): { readonly limit: number; readonly cursor: string | null } {
  const found = parseQueryParameters(request, ['limit', 'cursor']);
  const text = found.get('limit') ?? String(DEFAULT_JOBS_PER_PAGE);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_JOBS_PER_PAGE) {
    throw new MillraceError(
      'invalid-parameter',
      `The parameter 'limit' must be a number from 1 to ${MAX_JOBS_PER_PAGE}`,
    );
  }
  return { limit, cursor: found.get('cursor') };
}
