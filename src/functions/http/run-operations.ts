/** The operations on runs as the contract describes them. Not here: the routes (run-routes.ts). */
import { ASKED_ERRORS, CHECKED_ERRORS, jsonBody, operation } from '../../contract/operation.ts';
import { pathParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { MOST_REPLAYED } from '../kinds/queue/trigger-replays.ts';
import { RUN_STATES } from '../runs/run.ts';
import { REPLAY_RANGE, REPLAYED_SHAPE, RUN_SHAPE, WHOLE_RUN_SHAPE } from './run-shapes.ts';

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
  replay: operation({
    id: 'plugins.functions.replay',
    tag,
    summary: 'Give a range of the event log to a trigger once more',
    description:
      'Each event that the trigger wants by its types and its filter becomes a new run. One request reads at most ' +
      `${MOST_REPLAYED.toLocaleString('en')} events; while \`done\` is false, the range goes on after \`position\`.`,
    parameters: [
      pathParameter('name', 'Name of the plugin.', { type: 'string', minLength: 1, maxLength: 40 }),
      pathParameter('function', 'Name of the trigger.', { type: 'string', minLength: 1, maxLength: 40 }),
    ],
    body: jsonBody(REPLAY_RANGE),
    answers: { 202: { description: 'How many runs were made, and how far.', schema: REPLAYED_SHAPE } },
    errors: [
      ...CHECKED_ERRORS,
      'invalid-parameter',
      'function-not-found',
      'function-quarantined',
      'position-expired',
      'position-unknown',
      'epoch-changed',
    ],
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
