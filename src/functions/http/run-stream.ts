/**
 * The live stream of runs over HTTP: limits the number of streams, checks the rights of the reader, and ends with these
 * rights or the server.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { EVENT_STREAM_HEADERS } from '../../lib/streaming/stream-headers.ts';
import type { Policies } from '../../policies/policies.ts';
import type { StreamedResponses } from '../../policies/revalidation/streamed-responses.ts';
import type { LiveRuns } from '../runs/live-runs.ts';
import { MAX_STREAM_BUFFER_CHARACTERS, streamRunEvents } from './run-events.ts';

const MAX_STREAMS = 100;

export interface RunStreamDeps {
  readonly policies: Policies;
  readonly streamedResponses: StreamedResponses;
  readonly live: LiveRuns;
  /** Ends all streams. */
  readonly closing: AbortSignal;
}

/**
 * Responds with the stream.
 * @throws MillraceError `overloaded` and those of policies and parameters
 */
export function streamLiveRuns(
  { policies, streamedResponses, live, closing }: RunStreamDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { principal, asker, as } = request;
  const { generation } = policies;
  const scopesOf = (who: Principal) => [
    policies.scope(who, 'read', '_admin'),
    policies.find(who, 'read', '_admin:accounts'),
  ];
  const scopes = scopesOf(principal);
  const found = parseQueryParameters(request, ['plugin', 'functionName', 'ticket']);
  reply.headers(EVENT_STREAM_HEADERS);
  if (request.method === 'HEAD') return reply.send();
  if (live.watchers >= MAX_STREAMS) {
    throw new MillraceError('overloaded', 'Too many clients follow runs', { headers: { 'retry-after': '5' } });
  }
  const { authorization } = request.headers;
  const response = streamedResponses.begin(
    request,
    reply.raw,
    { principal, asker, as, authorization, generation, scopes, renewScopes: scopesOf },
    MAX_STREAM_BUFFER_CHARACTERS,
  );
  const gone = new AbortController();
  // The client may have disconnected already; then no `close` event follows.
  if (reply.raw.closed) gone.abort();
  else reply.raw.once('close', () => gone.abort());
  const [plugin, name] = [found.get('plugin'), found.get('functionName')];
  const messages = streamRunEvents({
    live,
    matches: (run) => (plugin === null || run.plugin === plugin) && (name === null || run.function === name),
    mayReadUsers: scopes[1] !== null,
    pass: request.streamPass,
    signal: AbortSignal.any([gone.signal, closing]),
  });
  return reply.send(Readable.from(response.allowed(messages), { objectMode: false }));
}
