/**
 * `ctx`, the second argument of every function: host operations and data of the call. Sent to the isolate as text, so it
 * references nothing outside itself. The JSON of the operations is in host-schemas.ts.
 */
import type { CallContextData } from '../sandbox.ts';
import type { BodyUtils, OutgoingBody } from './bodies.ts';
import type { EncodingUtils } from './encodings.ts';
import type { OutcomeUtils } from './errors-and-response.ts';
import type { CallBridge } from './host-bridge.ts';
import type { WebhookVerifier } from './webhooks.ts';

/** The parameters of a context. */
export interface ContextDeps {
  readonly encodings: EncodingUtils;
  readonly bodies: BodyUtils;
  readonly values: OutcomeUtils;
  readonly webhooks: WebhookVerifier;
}

/**
 * Creates a function that makes the frozen `ctx` of a call. Runs in an isolate, before any author code.
 * @param maxBytes of a stream body
 */
export function makeFunctionContext(
  { encodings, bodies, values, webhooks }: ContextDeps,
  maxBytes: number,
): (facts: CallContextData, bridge: Pick<CallBridge, 'request' | 'log'>) => object {
  const { freeze, create, keys } = Object;
  const { isArray } = Array;
  const Dates = Date;
  const { parse } = JSON;
  const { fromBase64, toBase64, text: decode } = encodings;

  interface ListOptions {
    readonly filter?: unknown;
    readonly sort?: unknown;
    readonly limit?: unknown;
    readonly cursor?: unknown;
    readonly fields?: unknown;
  }
  interface WriteOptions {
    readonly ifMatch?: unknown;
  }
  const { ownOptions } = bodies;
  const ifMatchOf = (given: WriteOptions | undefined) => ownOptions(given).ifMatch;
  const commas = (value: unknown): unknown => (isArray(value) ? value.join(',') : value);
  interface SentBody {
    readonly text?: string;
    readonly base64?: string;
  }
  const sent = (body: OutgoingBody): SentBody => {
    if (body === null) return {};
    return typeof body === 'string' ? { text: body } : { base64: toBase64(body) };
  };
  /** Awaits streams only: other operations keep their order. */
  const withBody = (given: unknown, send: (body: SentBody) => Promise<unknown>): Promise<unknown> => {
    const body = bodies.take(given);
    if (!bodies.isStreaming(body)) return send(sent(body));
    return (async () => send(sent(await bodies.collect(body, maxBytes))))();
  };

  interface FileOptions {
    readonly name?: unknown;
    readonly type?: unknown;
    readonly body?: unknown;
  }
  interface FetchOptions {
    readonly method?: unknown;
    readonly headers?: unknown;
    readonly body?: unknown;
    readonly timeoutMs?: unknown;
  }
  interface FetchResult {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly base64: string;
  }
  interface ScheduleOptions {
    readonly after?: unknown;
    readonly at?: unknown;
  }
  interface HmacOptions {
    readonly encoding?: unknown;
    readonly key?: unknown;
  }
  const frozen = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    for (const key of keys(value)) frozen((value as Record<string, unknown>)[key]);
    return freeze(value);
  };

  return ({ principal, run, secrets }, { request, log }) => {
    const documents = (collection: unknown) =>
      freeze({
        list: (given?: ListOptions) => {
          const { filter, sort, limit, cursor, fields } = ownOptions(given);
          const parameters = { filter, sort: commas(sort), limit, cursor, fields: commas(fields) };
          return request('documents.list', { collection, ...parameters });
        },
        get: (id: unknown) => request('documents.get', { collection, id }),
        count: (filter?: unknown) => request('documents.count', { collection, filter }),
        create: (document: unknown) => request('documents.create', { collection, document }),
        replace: (id: unknown, document: unknown, given?: WriteOptions) =>
          request('documents.replace', { collection, id, document, ifMatch: ifMatchOf(given) }),
        patch: (id: unknown, changes: unknown, given?: WriteOptions) =>
          request('documents.patch', { collection, id, changes, ifMatch: ifMatchOf(given) }),
        update: (id: unknown, operators: unknown, given?: WriteOptions) =>
          request('documents.update', { collection, id, operators, ifMatch: ifMatchOf(given) }),
        remove: async (id: unknown, given?: WriteOptions) => {
          await request('documents.remove', { collection, id, ifMatch: ifMatchOf(given) });
        },
      });

    const files = freeze({
      get: (id: unknown) => request('files.get', { id }),
      text: (id: unknown) => request('files.text', { id }),
      bytes: async (id: unknown) => fromBase64((await request('files.bytes', { id })) as string),
      create: async (file: FileOptions) => {
        const { name, type, body } = ownOptions(file);
        const known = type ?? bodies.typeOf(body) ?? undefined;
        return withBody(body ?? '', (taken) => request('files.create', { name, type: known, ...taken }));
      },
      remove: async (id: unknown) => {
        await request('files.remove', { id });
      },
    });

    const call = async (url: unknown, options?: FetchOptions) => {
      const { method, headers, body, timeoutMs } = ownOptions(options);
      const given = headers === undefined ? undefined : values.headersOf(headers);
      const argument = { url: `${url}`, method, headers: given, timeoutMs };
      const response = (await withBody(body, (taken) => request('fetch', { ...argument, ...taken }))) as FetchResult;
      const bytes = () => fromBase64(response.base64);
      const text = () => decode(bytes());
      return freeze({
        status: response.status,
        ok: response.status >= 200 && response.status < 300,
        headers: freeze(response.headers),
        bytes: async () => bytes(),
        text: async () => text(),
        json: async () => parse(text()) as unknown,
      });
    };

    const hmac = (secret: unknown, text: unknown, given: unknown = {}) => {
      const isOptions = typeof given === 'object' && given !== null;
      const { encoding, key } = ownOptions<HmacOptions>(isOptions ? given : { encoding: given });
      return request('hmac', { secret, text: `${text}`, encoding, key });
    };

    const schedule = (name: unknown, input: unknown = null, options?: ScheduleOptions) => {
      const { after, at } = ownOptions(options);
      return request('schedule', { name, input, after, at: at instanceof Dates ? at.toISOString() : at });
    };

    const line =
      (level: 'info' | 'warn' | 'error') =>
      (...given: unknown[]): void =>
        log(level, given);
    const ownLog = freeze({ info: line('info'), warn: line('warn'), error: line('error') });

    const own: Record<string, string> = create(null);
    for (const name of keys(secrets)) own[name] = secrets[name] ?? '';
    return freeze({
      documents,
      batch: (operations: unknown) => request('batch', { operations }),
      files,
      ['fetch']: call,
      hmac,
      webhooks: webhooks.of(own),
      schedule,
      secrets: freeze(own),
      log: ownLog,
      principal: frozen(principal),
      run: frozen(run),
      now: () => new Dates(),
    });
  };
}
