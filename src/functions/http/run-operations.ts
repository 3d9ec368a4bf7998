/** The operations on runs as the contract describes them. Not here: the routes (run-routes.ts). */
import { ASKED_ERRORS, operation } from '../../contract/operation.ts';
import { pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { RUN_STATES } from '../runs/run.ts';
import { RUN_SHAPE, WHOLE_RUN_SHAPE } from './run-shapes.ts';

export const MAX_RUNS_OF_PAGE = 1_000;

const tag = 'Functions';
const ONE = pathParameter('id', 'Id of the run.', { type: 'string', minLength: 1, maxLength: 128 });
const PLUGIN = queryParameter('plugin', 'Only those of this plugin.');
const FUNCTION = queryParameter('function', 'Only those of functions of this name.');

export const RUN_OPERATIONS = {
  list: operation({
    id: 'runs.list',
    tag,
    summary: 'List runs of functions',
    parameters: [
      PLUGIN,
      FUNCTION,
      queryParameter('state', 'Only those in this state.', { type: 'string', enum: [...RUN_STATES] }),
      queryParameter('event', 'Only those of the event with this id.'),
      queryParameter('limit', 'The most items of a page.', { type: 'integer', minimum: 1, maximum: MAX_RUNS_OF_PAGE }),
      queryParameter('cursor', 'Where the page begins: from `Link`, or the `Millrace-Next` of the page before.'),
    ],
    answers: {
      200: {
        description: 'A page, the newest first.',
        schema: listOf(RUN_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...ASKED_ERRORS, 'invalid-parameter', 'cursor-mismatch'],
  }),
  get: operation({
    id: 'runs.get',
    tag,
    summary: 'Get a run with what it logged and did',
    parameters: [ONE],
    answers: { 200: { description: 'The run.', schema: WHOLE_RUN_SHAPE } },
    errors: [...ASKED_ERRORS, 'run-not-found'],
  }),
  repeat: operation({
    id: 'runs.repeat',
    tag,
    summary: 'Run a function again on what was recorded',
    description:
      'Makes a new run of the version in force. Runs of triggers, crons and jobs can be repeated, and of endpoints with ' +
      '`"as": "function"`; what acts as its caller cannot, because the caller is not here.',
    parameters: [ONE],
    answers: { 202: { description: 'The new run.', schema: RUN_SHAPE } },
    errors: [...ASKED_ERRORS, 'run-not-found', 'function-not-found', 'run-not-repeatable', 'function-quarantined'],
  }),
  live: operation({
    id: 'runs.live',
    tag,
    summary: 'Follow runs as they happen',
    description:
      'Server-Sent Events: `run` with a run when it begins, changes or ends, and `line` with ' +
      '`{run, plugin, function, at, level, text}` for each line that a run of this process logs.',
    parameters: [PLUGIN, FUNCTION, queryParameter('ticket', 'From `POST /auth/ticket`, for an `EventSource`.')],
    answers: { 200: { description: 'The stream.', content: { 'text/event-stream': { type: 'string' } } } },
    errors: [...ASKED_ERRORS, 'invalid-parameter'],
  }),
};
