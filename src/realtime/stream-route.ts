/**
 * The live form of a list: the response of a list's URL to `Accept: text/event-stream`. It continues after
 * `Last-Event-ID`, or after `since` on the first request.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toActorId } from '../auth/identity/principal.ts';
import type { CollectionName } from '../database/parse-collection-name.ts';
import { requirePosition } from '../events/log/position.ts';
import { MillraceError } from '../lib/errors.ts';
import { EVENT_STREAM_HEADERS } from '../lib/streaming/stream-headers.ts';
import { parseLastEventId } from '../lib/streaming/stream-ids.ts';
import { parseQuery } from '../query/parse/parse-query.ts';
import type { QueryParameter } from '../query/parse/parse-query-string.ts';
import { CONNECTION_OVERHEAD_BYTES, subscriptionMemoryBytes } from './client/realtime-client.ts';
import { StreamClient } from './client/stream-client.ts';
import type { Realtime } from './realtime.ts';
import { toSubscriptionQuery } from './result/live-query-spec.ts';
import { RESTART_POSITION } from './wire/protocol.ts';
import { ResumableStreamWriter } from './wire/resumable-stream-writer.ts';
import { SendQueue } from './wire/send-queue.ts';

const END_MS = 2_000;

/** Parameters of a stream that a list does not have. */
const OWN = ['since', 'ticket'];

/**
 * Responds with a stream.
 * @param parameters of the URL
 * @throws MillraceError as a list does, and `overloaded`, `shutting-down`
 */
export type ListStreamHandler = (
  request: FastifyRequest,
  reply: FastifyReply,
  parameters: readonly QueryParameter[],
  name: CollectionName,
) => FastifyReply;

export function createListStreamHandler(realtime: Realtime): ListStreamHandler {
  return (request, reply, parameters, name) => {
    const requested = parameters.filter(([parameter]) => !OWN.includes(parameter));
    const keyed = requested.some(([parameter]) => parameter === 'sort');
    const since = sinceOf(request, parameters);
    const query = toSubscriptionQuery(parseQuery(requested), keyed, new Date());
    if (!realtime.hasRoom) throw refusal(realtime.closing);
    const account = realtime.accountOf(request.ip);
    account.move(toActorId(request.asker));
    const bytes = subscriptionMemoryBytes(request.url.length);
    account.require(CONNECTION_OVERHEAD_BYTES + bytes);

    const { raw } = reply;
    const { streamPass: pass } = request;
    // The client disconnected during authentication. No `close` event follows any more.
    if (raw.destroyed) return reply.hijack();
    const line = pass === null ? null : new ResumableStreamWriter(raw, pass);
    const queue = new SendQueue(line ?? raw, realtime.deps.flushScheduler, account);
    const stream = new StreamClient(realtime.deps, queue, {
      principal: request.asker,
      seen: request.as && { target: request.as, principal: request.principal },
      credential: request.headers.authorization ?? null,
      collection: name,
      requested: query,
      since,
      bytes,
      end: () => {
        raw.end();
        // A client that does not read the end of the response is disconnected.
        setTimeout(() => raw.destroy(), END_MS).unref();
      },
    });
    reply.headers(EVENT_STREAM_HEADERS);
    for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) raw.setHeader(name, value);
    reply.hijack();
    if (line === null) raw.flushHeaders();
    else line.writeFirstId(since);
    raw.once('close', realtime.take(stream));
    raw.setTimeout(stream.idleTimeoutMs, () => stream.handleStall());
    stream.start();
    return reply;
  };
}

/**
 * The position to continue from. The header that a browser sends by itself when it reconnects is newer than the URL.
 */
function sinceOf(request: FastifyRequest, parameters: readonly QueryParameter[]): string | null {
  const given = parameters.filter(([name]) => name === 'since').map(([, value]) => value);
  if (given.length > 1)
    throw new MillraceError('invalid-parameter', "The parameter 'since' must be given at most once");
  const { position } = parseLastEventId(request.headers['last-event-id']);
  if (position === RESTART_POSITION) return null;
  // A page may also store the last event id itself and send it as `since`.
  const since = position !== '' ? position : given[0] === undefined ? null : parseLastEventId(given[0]).position;
  if (since !== null) requirePosition(since);
  return since;
}

function refusal(closing: boolean): MillraceError {
  if (closing) return new MillraceError('shutting-down', 'The server is shutting down');
  return new MillraceError('overloaded', 'The server has too many realtime clients', {
    headers: { 'retry-after': '5' },
  });
}
