/** OpenAPI operations of jobs. */
import Type from 'typebox';
import { DONE, operation, REQUEST_ERRORS } from '../../openapi/operation.ts';
import { idParameter, PAGE_CURSOR, pageLimit } from '../../openapi/parameters.ts';
import { listOf, nullable, shape, TIME } from '../../openapi/schema.ts';

export const MAX_JOBS_OF_PAGE = 1_000;

const tag = 'functions';

const JOB_SHAPE = shape(
  'ScheduledJob',
  Type.Object({
    id: Type.String({ description: 'Id of its run.' }),
    plugin: Type.String(),
    function: Type.String({ description: 'Its name inside the plugin.' }),
    state: Type.Unsafe<string>({ type: 'string', enum: ['pending', 'running'] }),
    scheduledAt: TIME,
    attempts: Type.Integer({ minimum: 0, description: 'How many attempts have begun.' }),
    nextAttemptAt: nullable(TIME),
    createdAt: TIME,
  }),
);

export const JOB_OPERATIONS = {
  list: operation({
    id: 'listJobs',
    tag,
    summary: 'List unfinished jobs',
    description: 'Jobs scheduled by `ctx.schedule`. Finished jobs are in the list of runs.',
    parameters: [pageLimit(MAX_JOBS_OF_PAGE), PAGE_CURSOR],
    responses: {
      200: {
        description: 'A page, the next job first.',
        schema: listOf(JOB_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...REQUEST_ERRORS, 'invalid-parameter', 'cursor-mismatch'],
  }),
  cancel: operation({
    id: 'cancelJob',
    tag,
    summary: 'Cancel a pending job',
    description: 'Its run is kept as canceled.',
    parameters: [idParameter('id', 'the job', 'jobId')],
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'job-not-found'],
  }),
};
