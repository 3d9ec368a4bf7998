/** The operations on jobs as the contract describes them. Not here: the routes (job-routes.ts). */
import Type from 'typebox';
import { ASKED_ERRORS, DONE, operation } from '../../contract/operation.ts';
import { pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf, nullable, shape, TIME } from '../../contract/schema.ts';

export const MAX_JOBS_OF_PAGE = 1_000;

const tag = 'Functions';

const JOB_SHAPE = shape(
  'Job',
  Type.Object({
    id: Type.String({ description: 'Id of its run.' }),
    plugin: Type.String(),
    function: Type.String({ description: 'Its name inside the plugin.' }),
    state: Type.Unsafe<string>({ type: 'string', enum: ['waiting', 'running'] }),
    scheduledAt: TIME,
    attempt: Type.Integer({ minimum: 0, description: 'How often it was tried.' }),
    nextAttemptAt: nullable(TIME),
    createdAt: TIME,
  }),
);

export const JOB_OPERATIONS = {
  list: operation({
    id: 'jobs.list',
    tag,
    summary: 'List jobs that have not ended',
    description: 'What functions have scheduled by `ctx.schedule`. A job that has ended is in the list of runs.',
    parameters: [
      queryParameter('limit', 'The most items of a page.', { type: 'integer', minimum: 1, maximum: MAX_JOBS_OF_PAGE }),
      queryParameter('cursor', 'Where the page begins: from `Link`, or the `Millrace-Next` of the page before.'),
    ],
    answers: {
      200: {
        description: 'A page, the next job first.',
        schema: listOf(JOB_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...ASKED_ERRORS, 'invalid-parameter', 'cursor-mismatch'],
  }),
  cancel: operation({
    id: 'jobs.cancel',
    tag,
    summary: 'Cancel a job that waits',
    description: 'Its run stays, as one that was refused.',
    parameters: [pathParameter('id', 'Id of the job.', { type: 'string', minLength: 1, maxLength: 128 })],
    answers: DONE,
    errors: [...ASKED_ERRORS, 'job-not-found'],
  }),
};
