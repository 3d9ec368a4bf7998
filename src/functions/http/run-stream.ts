/**
 * The stream of runs over HTTP: how many there are, what one reader may see of it, and that it ends with the reader's rights
 * and with the server. Not here: its messages (run-messages.ts).
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../../auth/identity/principal.ts';
import { STREAM_HEADERS } from '../../kernel/answers/stream-headers.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { parameters } from '../../kernel/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { LongAnswers } from '../../policies/standing/long-answers.ts';
import type { LiveRuns } from '../runs/live-runs.ts';
import { MOST_WAITING, runMessages } from './run-messages.ts';

const MAX_STREAMS = 100;

export interface RunStreamParts {
  readonly policies: Policies;
  readonly longAnswers: LongAnswers;
  readonly live: LiveRuns;
  /** Ends all streams. */
  readonly closing: AbortSignal;
}

/** Answers a request with the stream. @throws MillraceError `overloaded` and those of policies and parameters */
export function answerRunStream(
  { policies, longAnswers, live, closing }: RunStreamParts,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { principal, asker, as } = request;
  const { generation } = policies;
  const scopesOf = (who: Principal) => [
    policies.scope(who, 'read', 'admin'),
    policies.find(who, 'read', 'admin:accounts'),
  ];
  const scopes = scopesOf(principal);
  const found = parameters(request, ['plugin', 'function', 'ticket']);
  reply.headers(STREAM_HEADERS);
  if (request.method === 'HEAD') return reply.send();
  if (live.watchers >= MAX_STREAMS) {
    throw new MillraceError('overloaded', 'Too many readers follow the runs', { headers: { 'retry-after': '5' } });
  }
  const { authorization } = request.headers;
  const answer = longAnswers.begin(
    request,
    reply.raw,
    { principal, asker, as, authorization, generation, scopes, again: scopesOf },
    MOST_WAITING,
  );
  const gone = new AbortController();
  // The client may have gone already; then no `close` event follows.
  if (reply.raw.closed) gone.abort();
  else reply.raw.once('close', () => gone.abort());
  const [plugin, name] = [found.get('plugin'), found.get('function')];
  const messages = runMessages({
    live,
    wants: (run) => (plugin === null || run.plugin === plugin) && (name === null || run.function === name),
    mayReadAccounts: scopes[1] !== null,
    pass: request.streamPass,
    signal: AbortSignal.any([gone.signal, closing]),
  });
  return reply.send(Readable.from(answer.allowed(messages), { objectMode: false }));
}
