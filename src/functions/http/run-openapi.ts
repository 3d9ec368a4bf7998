/** OpenAPI operations of runs. */
import { declareOperation, jsonBody, QUERY_PARAMETER_ERRORS, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { idParameter, PAGE_CURSOR_PARAMETER, pageLimitParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { MAX_REPLAYED_EVENTS } from '../queue/trigger-replays.ts';
import { RUN_STATES } from '../runs/run.ts';
import { FUNCTION_NAME_PARAMETER, PLUGIN_NAME_PARAMETER } from './plugin-openapi.ts';
import { RUN_DETAILS_SHAPE, RUN_SHAPE, TRIGGER_REPLAY_BODY, TRIGGER_REPLAY_SHAPE } from './run-schemas.ts';

export const MAX_RUNS_PER_PAGE = 1_000;

const tag = 'functions';
const ONE = idParameter('id', 'the run', 'runId');
const PLUGIN = queryParameter('plugin', 'Only runs of this plugin.');
const FUNCTION = queryParameter('functionName', 'Only runs of functions with this name.');

export const RUN_OPERATIONS = {
  list: declareOperation({
    id: 'listRuns',
    tag,
    summary: 'List runs of functions',
    parameters: [
      PLUGIN,
      FUNCTION,
      queryParameter('state', 'Only runs in this state.', { type: 'string', enum: [...RUN_STATES] }, 'runState'),
      queryParameter('eventId', 'Only those of the event with this id.'),
      pageLimitParameter(MAX_RUNS_PER_PAGE),
      PAGE_CURSOR_PARAMETER,
    ],
    responses: {
      200: {
        description: 'A page, the newest first.',
        schema: arraySchema(RUN_SHAPE),
        headers: ['Link', 'Millrace-Next'],
      },
    },
    errors: [...QUERY_PARAMETER_ERRORS, 'invalid-parameter', 'cursor-mismatch'],
  }),
  get: declareOperation({
    id: 'getRun',
    tag,
    summary: 'Get a run with its log and operations',
    parameters: [ONE],
    responses: { 200: { description: 'The run.', schema: RUN_DETAILS_SHAPE } },
    errors: [...QUERY_PARAMETER_ERRORS, 'run-not-found'],
  }),
  rerun: declareOperation({
    id: 'rerunFunction',
    tag,
    summary: 'Rerun a function with the recorded input',
    description:
      'Creates a new run of the active version. Runs of triggers, cron jobs and jobs can be rerun, and HTTP functions with ' +
      '`"as": "function"`; a function that acts as its caller cannot, because the caller is not present.',
    parameters: [ONE],
    responses: { 202: { description: 'The new run.', schema: RUN_SHAPE } },
    errors: [
      ...QUERY_PARAMETER_ERRORS,
      'run-not-found',
      'function-not-found',
      'rerun-not-possible',
      'function-quarantined',
    ],
  }),
  replay: declareOperation({
    id: 'replayTrigger',
    tag,
    summary: 'Replay a range of the event log to a trigger',
    description:
      'Each event that matches the types and the filter of the trigger becomes a new run. One request reads at most ' +
      `${MAX_REPLAYED_EVENTS.toLocaleString('en')} events; while \`done\` is false, the range continues after \`position\`.`,
    parameters: [PLUGIN_NAME_PARAMETER, FUNCTION_NAME_PARAMETER],
    body: jsonBody(TRIGGER_REPLAY_BODY),
    responses: { 202: { description: 'The number of created runs, and the progress.', schema: TRIGGER_REPLAY_SHAPE } },
    errors: [
      ...VALIDATION_ERRORS,
      'invalid-parameter',
      'function-not-found',
      'function-quarantined',
      'position-expired',
      'position-unknown',
      'epoch-changed',
    ],
  }),
  live: declareOperation({
    id: 'streamRuns',
    tag,
    summary: 'Follow runs live',
    description:
      'Server-Sent Events: `run` with a run when it starts, changes or ends, and `line` with ' +
      '`{run, plugin, function, at, level, text}` for each line that a run of this process logs.',
    parameters: [PLUGIN, FUNCTION, queryParameter('ticket', 'From `POST /auth/ticket`, for an `EventSource`.')],
    responses: { 200: { description: 'The stream.', content: { 'text/event-stream': { type: 'string' } } } },
    errors: [...QUERY_PARAMETER_ERRORS, 'invalid-parameter'],
  }),
};
