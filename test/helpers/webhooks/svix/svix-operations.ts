/** The operations of Svix's API that the counterpart supports. */
import type { SvixApplication, SvixEndpoint, SvixMessage, SvixState } from './svix-state.ts';

export interface ApiResponse {
  readonly status: number;
  readonly body: unknown;
}

interface Requesting {
  readonly operationId: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: Body;
}

/** Bodies are checked against the document before. */
type Body = {
  readonly uid?: string;
  readonly name?: string;
  readonly eventId?: string | null;
  readonly eventType?: string;
  readonly channels?: readonly string[] | null;
  readonly transformationsParams?: { readonly rawPayload?: string };
  readonly payload?: unknown;
  readonly key?: string;
  readonly gracePeriodSeconds?: number;
  readonly headers?: Record<string, string>;
} & Partial<Pick<SvixEndpoint, 'url' | 'description' | 'eventTypes' | 'disabled' | 'throttleRate' | 'metadata'>> & {
    readonly secret?: string | null;
  };

/** Header fields whose values the open-source server does not return. */
const SENSITIVE = new Set([
  'authorization',
  'proxy-authenticate',
  'proxy-authorization',
  'www-authenticate',
  'x-api-key',
  'x-auth-token',
]);
/** Header fields that the open-source server rejects, as far as Millrace does not itself. */
const FORBIDDEN =
  /^(age|cache-control|clear-site-data|expires|pragma|trailers|warning|(x-amzn?-|x-google|x-goog-|x-gfe|x-azure-|x-fd-|x-svix-|svix-).*)$/;
const MAX_VALUE = 4_096;
const MAX_OLD_KEYS = 10;
const STATUS_TEXT = { 0: 'success', 2: 'fail' } as const;

export function issue(status: number, code: string, detail: string): ApiResponse {
  return { status, body: { code, detail } };
}

const missing = (): ApiResponse => issue(404, 'not_found', 'Entity not found');

export function responseTo(state: SvixState, requesting: Requesting): ApiResponse {
  const { operationId, path, body } = requesting;
  if (operationId === 'v1.application.create') return application(state, body);
  const app = state.apps.get(path['app_id'] ?? '');
  if (app === undefined) return missing();
  switch (operationId) {
    case 'v1.endpoint.list':
      return { status: 200, body: page([...app.endpoints.values()].map(shown), requesting.query) };
    case 'v1.endpoint.create':
      return created(state, app, body);
    case 'v1.message.create':
      return message(state, app, body);
    case 'v1.message.get':
    case 'v1.message-attempt.list-by-msg':
    case 'v1.message-attempt.list-attempted-destinations':
    case 'v1.message-attempt.resend':
      return ofMessage(state, app, requesting);
    default:
      return ofEndpoint(state, app, requesting);
  }
}

function application(state: SvixState, { uid = '', name = '' }: Body): ApiResponse {
  const known = state.apps.get(uid);
  const app = known ?? {
    id: state.newId('app'),
    uid,
    name,
    endpoints: new Map(),
    deleted: new Map(),
    messages: new Map(),
    byEventId: new Map(),
    attempts: new Map(),
    cache: null,
  };
  state.apps.set(uid, app);
  const times = { createdAt: state.time(), updatedAt: state.time() };
  return { status: known === undefined ? 201 : 200, body: { id: app.id, uid, name, metadata: {}, ...times } };
}

function created(state: SvixState, app: SvixApplication, body: Body): ApiResponse {
  const { uid = null, secret } = body;
  if (find(app, uid ?? '') !== undefined) return issue(409, 'conflict', 'An endpoint with this uid exists');
  const endpoint: SvixEndpoint = {
    ...written(body),
    id: state.newId('ep'),
    uid,
    // The open-source server ignores `headers` here.
    headers: {},
    key: secret ?? `whsec_${Buffer.from(state.newId('key')).toString('base64')}`,
    oldKeys: [],
    createdAt: state.time(),
    updatedAt: state.time(),
  };
  app.endpoints.set(endpoint.id, endpoint);
  app.cache = null;
  return { status: 201, body: shown(endpoint) };
}

function ofEndpoint(state: SvixState, app: SvixApplication, { operationId, path, body }: Requesting): ApiResponse {
  const endpoint = find(app, path['endpoint_id'] ?? '');
  if (endpoint === undefined) return missing();
  switch (operationId) {
    case 'v1.endpoint.get':
      return { status: 200, body: shown(endpoint) };
    case 'v1.endpoint.upsert':
      Object.assign(endpoint, written(body), { uid: body.uid ?? null, updatedAt: state.time() });
      app.cache = null;
      return { status: 200, body: shown(endpoint) };
    case 'v1.endpoint.delete':
      app.endpoints.delete(endpoint.id);
      app.deleted.set(endpoint.id, { ...endpoint, uid: null });
      app.cache = null;
      return { status: 204, body: null };
    case 'v1.endpoint.get-headers': {
      const entries = Object.entries(endpoint.headers);
      const open = entries.filter(([name]) => !SENSITIVE.has(name.toLowerCase()));
      const sensitive = entries.filter(([name]) => SENSITIVE.has(name.toLowerCase())).map(([name]) => name);
      return { status: 200, body: { headers: Object.fromEntries(open), sensitive } };
    }
    case 'v1.endpoint.set-headers': {
      const refused = headerIssue(body.headers ?? {});
      if (refused !== null) return refused;
      endpoint.headers = { ...body.headers };
      return { status: 204, body: null };
    }
    case 'v1.endpoint.get-secret':
      return { status: 200, body: { key: endpoint.key } };
    case 'v1.endpoint.rotate-secret': {
      const now = Date.parse(state.time());
      const until = now + (body.gracePeriodSeconds ?? 86_400) * 1_000;
      const old = [{ key: endpoint.key, until }, ...endpoint.oldKeys].filter((one) => one.until > now);
      if (old.length > MAX_OLD_KEYS)
        return issue(400, 'limit_reached', `You can only rotate a key ${MAX_OLD_KEYS} times`);
      endpoint.oldKeys = old;
      app.cache = null;
      endpoint.key = body.key ?? endpoint.key;
      return { status: 204, body: null };
    }
    default:
      throw new Error(`The counterpart does not know ${operationId}`);
  }
}

function message(state: SvixState, app: SvixApplication, body: Body): ApiResponse {
  const { eventId = null, eventType = '', channels = null, payload, transformationsParams } = body;
  if (eventId !== null && state.accepted.has(eventId))
    return issue(409, 'conflict', 'A message with this eventId exists');
  const raw = transformationsParams?.rawPayload ?? JSON.stringify(payload);
  const one: SvixMessage = {
    id: state.newId('msg'),
    eventId,
    eventType,
    channels,
    body: raw,
    timestamp: state.time(),
  };
  state.create(app, one);
  return { status: 202, body: shownMessage(one) };
}

function ofMessage(state: SvixState, app: SvixApplication, { operationId, path, query }: Requesting): ApiResponse {
  const id = path['msg_id'] ?? '';
  const found = app.messages.get(id) ?? app.byEventId.get(id);
  if (found === undefined) return missing();
  const attempts = [...(app.attempts.get(found.id) ?? [])].reverse();
  switch (operationId) {
    case 'v1.message.get':
      return { status: 200, body: shownMessage(found) };
    case 'v1.message-attempt.list-by-msg':
      return {
        status: 200,
        body: page(
          attempts.map(({ nextAttempt: _, ...one }) => ({ ...one, statusText: STATUS_TEXT[one.status] })),
          query,
        ),
      };
    case 'v1.message-attempt.list-attempted-destinations': {
      const [newest] = attempts;
      const of = newest?.endpointId ?? '';
      const endpoint = app.endpoints.get(of) ?? app.deleted.get(of);
      const { metadata: _, ...rest } = endpoint === undefined ? { metadata: {} } : shown(endpoint);
      const one = newest && {
        ...rest,
        status: newest.status,
        statusText: STATUS_TEXT[newest.status],
        nextAttempt: newest.nextAttempt,
      };
      return { status: 200, body: page(endpoint === undefined || one === undefined ? [] : [one], query) };
    }
    default: {
      const endpoint = find(app, path['endpoint_id'] ?? '');
      if (endpoint === undefined) return missing();
      state.resend(app, found, endpoint.id);
      return { status: 202, body: {} };
    }
  }
}

function headerIssue(headers: Readonly<Record<string, string>>): ApiResponse | null {
  for (const [name, value] of Object.entries(headers)) {
    const msg = FORBIDDEN.test(name.toLowerCase())
      ? 'Header uses a forbidden key.'
      : value.length > MAX_VALUE && 'Maximum header length is 4096 bytes';
    if (msg === false) continue;
    return { status: 422, body: { detail: [{ loc: ['body', 'headers'], msg, type: 'value_error.jsondecode' }] } };
  }
  return null;
}

function find(app: SvixApplication, id: string): SvixEndpoint | undefined {
  return app.endpoints.get(id) ?? [...app.endpoints.values()].find(({ uid }) => uid === id);
}

function written({ url = '', description = '', channels = null, eventTypes = null, ...rest }: Body) {
  const { disabled, throttleRate, metadata = {} } = rest;
  return {
    metadata,
    url,
    description,
    channels,
    eventTypes,
    disabled: disabled ?? false,
    throttleRate: throttleRate ?? null,
  };
}

function shown({ headers: _, key: __, oldKeys: ___, ...endpoint }: SvixEndpoint) {
  return endpoint;
}

function shownMessage({ body: _, ...message }: SvixMessage) {
  return { ...message, payload: {} };
}

function page<T extends { readonly id?: string }>(all: readonly T[], query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? 50);
  const after = all.findIndex(({ id }) => id === query.get('iterator')) + 1;
  const data = all.slice(after, after + limit);
  return { data, iterator: data.at(-1)?.id ?? null, prevIterator: null, done: after + limit >= all.length };
}
