/** Runs over HTTP, for administrators: list, detail, rerun, replay and live stream. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clientLimitKey, stampFromPrincipal } from '../../auth/identity/principal.ts';
import { requireEventTypes } from '../../events/read/type-patterns.ts';
import { MillraceError } from '../../lib/errors.ts';
import { validateBody } from '../../lib/parse-body.ts';
import { parseQueryParameters, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { StreamedResponses } from '../../policies/revalidation/streamed-responses.ts';
import { pageLinks } from '../../query/page/page-links.ts';
import type { FunctionReruns } from '../function-reruns.ts';
import type { LiveRuns } from '../runs/live-runs.ts';
import { RUN_STATES, type Run, type RunDetails, withoutUserData } from '../runs/run.ts';
import { type RunRow, toRun, toRunDetails } from '../runs/run-row.ts';
import type { RunQuery, RunStore } from '../runs/run-store.ts';
import { MAX_RUNS_PER_PAGE, RUN_OPERATIONS as OPERATIONS } from './run-openapi.ts';
import { TRIGGER_REPLAY_BODY } from './run-schemas.ts';
import { sendRunStream } from './run-stream.ts';

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
  const shown = (request: FastifyRequest, run: Run): Run => (mayReadUsers(request) ? run : withoutUserData(run));

  const requireRun = async (id: string): Promise<RunRow> => {
    const row = await runs.store.find(id);
    if (row === null) throw new MillraceError('run-not-found', `There is no run '${id.slice(0, 80)}'`);
    return row;
  };

  app.get(URL, { config: OPERATIONS.list }, async (request, reply) => {
    policies.scope(request.principal, 'read', '_admin');
    const { runs: page, next } = await runs.store.list(parseRunQuery(request));
    const links = pageLinks(request.url, { next: next === null ? null : encodeURIComponent(next), prev: null });
    if (links !== null) reply.header('link', links);
    if (next !== null) reply.header('millrace-next', next);
    return page.map((run) => shown(request, run));
  });

  app.get<OnRun>(`${URL}/:id`, { config: OPERATIONS.get }, async (request, reply) => {
    parseQueryParameters(request, []);
    policies.scope(request.principal, 'read', '_admin');
    const row = await requireRun(request.params.id);
    const [run, details] = [toRun(row), toRunDetails(row)];
    if (!run.restricted || mayReadUsers(request)) return { ...run, ...details };
    reply.header(
      'millrace-hint',
      'Input, result, log lines and messages can contain data of users, which you have no permission to read',
    );
    return { ...withoutUserData(run), ...withoutContent(details) };
  });

  app.post<OnRun>(`${URL}/:id/rerun`, { config: OPERATIONS.rerun }, async (request, reply) => {
    parseQueryParameters(request, []);
    const { principal, ip } = request;
    policies.scope(principal, 'create', '_admin');
    const run = await repeats.rerun(await requireRun(request.params.id), clientLimitKey(principal, ip));
    return reply.code(202).send(shown(request, run));
  });

  app.post<OnFunction>(
    '/admin/plugins/:name/functions/:functionName/replay',
    { config: OPERATIONS.replay },
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

  app.get(`${URL}/live`, { config: { ...OPERATIONS.live, streams: true } }, (request, reply) =>
    sendRunStream({ policies, streamedResponses, live: runs.live, closing: closing.signal }, request, reply),
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
