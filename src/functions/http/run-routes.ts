/** Runs over HTTP, for administrators: list, detail, rerun, replay and live stream. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clientLimitKey, stampFromPrincipal } from '../../auth/identity/principal.ts';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseQueryParameters, requireMediaType } from '../../lib/request.ts';
import { declareOperation, jsonBody, QUERY_PARAMETER_ERRORS, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { idParameter, PAGE_CURSOR_PARAMETER, pageLimitParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import type { StreamedResponses } from '../../policies/revalidation/streamed-responses.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { FunctionReruns } from '../function-reruns.ts';
import { MAX_REPLAYED_EVENTS } from '../queue/trigger-replays.ts';
import type { LiveRuns } from '../runs/live-runs.ts';
import { RUN_STATES, type Run, type RunDetails, redactRunError } from '../runs/run.ts';
import { type RunRow, toRun, toRunDetails } from '../runs/run-row.ts';
import type { RunQuery, RunStore } from '../runs/run-store.ts';
import { FUNCTION_NAME_PARAMETER, PLUGIN_NAME_PARAMETER } from './plugin-routes.ts';
import { RUN_DETAILS_SHAPE, RUN_SHAPE, TRIGGER_REPLAY_BODY, TRIGGER_REPLAY_SHAPE } from './run-schemas.ts';
import { streamLiveRuns } from './run-stream.ts';

const MAX_RUNS_PER_PAGE = 1_000;

const tag = 'functions';
const ONE = idParameter('id', 'the run', 'runId');
const PLUGIN = queryParameter('plugin', 'Only runs of this plugin.');
const FUNCTION = queryParameter('functionName', 'Only runs of functions with this name.');

const RUN_OPERATIONS = {
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

const URL = '/admin/runs';
const DEFAULT_RUNS_PER_PAGE = 100;
/** Those that are taken as they are, with their names in a `RunQuery`. */
const TEXT_PARAMETERS = { plugin: 'plugin', functionName: 'function', eventId: 'event', cursor: 'cursor' } as const;
const PARAMETERS = ['plugin', 'functionName', 'state', 'eventId', 'limit', 'cursor'];

export interface RunRoutesOptions {
  readonly policies: Policies;
  readonly streamedResponses: StreamedResponses;
  readonly runs: { readonly store: RunStore; readonly live: LiveRuns };
  readonly repeats: FunctionReruns;
}

interface OnRun {
  Params: { id: string };
}

interface OnFunction {
  Params: { name: string; functionName: string };
}

export async function runRoutes(app: FastifyInstance, options: RunRoutesOptions): Promise<void> {
  const { policies, streamedResponses, runs, repeats } = options;
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());

  const mayReadUsers = ({ principal }: FastifyRequest) => policies.find(principal, 'read', '_admin:accounts') !== null;
  const shown = (request: FastifyRequest, run: Run): Run => (mayReadUsers(request) ? run : redactRunError(run));

  const requireRun = async (id: string): Promise<RunRow> => {
    const row = await runs.store.find(id);
    if (row === null) throw new MillraceError('run-not-found', `There is no run '${id.slice(0, 80)}'`);
    return row;
  };

  app.get(URL, { config: RUN_OPERATIONS.list }, async (request, reply) => {
    policies.scope(request.principal, 'read', '_admin');
    const { runs: page, next } = await runs.store.list(parseRunQuery(request));
    const links = pageLinks(request.url, { next: next === null ? null : encodeURIComponent(next), prev: null });
    if (links !== null) reply.header('link', links);
    if (next !== null) reply.header('millrace-next', next);
    return page.map((run) => shown(request, run));
  });

  app.get<OnRun>(`${URL}/:id`, { config: RUN_OPERATIONS.get }, async (request, reply) => {
    parseQueryParameters(request, []);
    policies.scope(request.principal, 'read', '_admin');
    const row = await requireRun(request.params.id);
    const [run, details] = [toRun(row), toRunDetails(row)];
    if (!run.restricted || mayReadUsers(request)) return { ...run, ...details };
    reply.header(
      'millrace-hint',
      'Input, result, log lines and messages can contain data of users, which you have no permission to read',
    );
    return { ...redactRunError(run), ...withoutContent(details) };
  });

  app.post<OnRun>(`${URL}/:id/rerun`, { config: RUN_OPERATIONS.rerun }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { principal, ip } = request;
    policies.scope(principal, 'create', '_admin');
    const run = await repeats.rerun(await requireRun(request.params.id), clientLimitKey(principal, ip));
    return reply.code(202).send(shown(request, run));
  });

  app.post<OnFunction>(
    '/admin/plugins/:name/functions/:functionName/replay',
    { config: RUN_OPERATIONS.replay },
    async (request, reply) => {
      parseQueryParameters(request, []);
      const stamp = stampFromPrincipal(policies.scope(request.principal, 'create', '_admin'), request.id);
      requireMediaType(request, ['application/json']);
      const { since, until = null, types = null } = validateBody(TRIGGER_REPLAY_BODY, request.body);
      if (types !== null) requireEventTypes(types);
      const { name, functionName } = request.params;
      return reply.code(202).send(await repeats.replay(`${name}/${functionName}`, { since, until, types }, stamp));
    },
  );

  app.get(`${URL}/live`, { config: { ...RUN_OPERATIONS.live, streams: true } }, (request, reply) =>
    streamLiveRuns({ policies, streamedResponses, live: runs.live, closing: closing.signal }, request, reply),
  );
}

/** A restricted run for administrators without access to users: without input, result, log and messages. */
function withoutContent({ inputBytes, resultBytes, operations }: RunDetails): RunDetails {
  const untargeted = operations.map((one) => ({ ...one, target: '' }));
  return { logs: [], operations: untargeted, input: null, inputBytes, result: null, resultBytes };
}

/** @throws MillraceError `unknown-parameter`, `invalid-parameter` */
function parseRunQuery(request: FastifyRequest): RunQuery {
  const found = parseQueryParameters(request, PARAMETERS);
  for (const [name, value] of found) if (value === '') throw invalid(name, 'must not be empty');
  const limitText = found.get('limit') ?? String(DEFAULT_RUNS_PER_PAGE);
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_RUNS_PER_PAGE) throw invalid('limit', `must be a number from 1 to ${MAX_RUNS_PER_PAGE}`);
  const stateText = found.get('state');
  const state = RUN_STATES.find((one) => one === stateText);
  if (stateText !== null && state === undefined) throw invalid('state', `must be one of ${RUN_STATES.join(', ')}`);
  const texts = Object.entries(TEXT_PARAMETERS).flatMap(([name, key]) => {
    const value = found.get(name);
    return value === null ? [] : [[key, value]];
  });
  return { ...Object.fromEntries(texts), limit, ...(state === undefined ? {} : { state }) };
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
