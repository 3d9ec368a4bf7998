/** OpenAPI operations of jobs. */
import Type from 'typebox';
import { declareOperation, NO_CONTENT_RESPONSE, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { idParameter, PAGE_CURSOR_PARAMETER, pageLimitParameter } from '../../openapi/parameters.ts';
import { arraySchema, DATE_TIME_SCHEMA, namedSchema, nullable } from '../../openapi/schema.ts';

export const MAX_JOBS_PER_PAGE = 1_000;

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

export const JOB_OPERATIONS = {
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
    errors: [...QUERY_PARAMETER_ERRORS, 'job-not-found'],
  }),
};
