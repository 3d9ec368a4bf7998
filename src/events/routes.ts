/**
 * The HTTP face of events: `/events` for who may see all of them, `/api/{collection}/_changes` for the readers of one
 * collection, both as long polls. What may be seen is the policies' answer; each reader gets an envelope of its own.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseCollectionName } from '../database/names.ts';
import { readStored } from '../database/stored.ts';
import { bindingsOf } from '../policies/bindings.ts';
import type { Policies } from '../policies/policies.ts';
import { reaches } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import { bind } from '../query/bind.ts';
import type { OpenFilter } from '../query/filter.ts';
import { compileMatch, type Match } from '../query/match.ts';
import { type Event, eventType, toEvent } from './event.ts';
import type { Feed } from './feed.ts';
import { parseChangesQuery, parseEventsQuery, wantsType } from './feed-query.ts';
import type { LogRow } from './row.ts';

export interface EventRoutesOptions {
  readonly policies: Policies;
  readonly events: {
    readonly feed: Feed;
    /** A row whose bodies were too large, with the document as it is now. */
    readonly completed: (row: LogRow) => Promise<LogRow>;
  };
}

interface OnCollection {
  Params: { collection: string };
}

export async function eventRoutes(app: FastifyInstance, { policies, events }: EventRoutesOptions): Promise<void> {
  const { feed, completed } = events;
  const closing = new AbortController();
  app.addHook('preClose', async () => closing.abort());

  app.get('/events', async (request, reply) => {
    const { types, ...query } = parseEventsQuery(request.url);
    policies.scope(request.principal, 'read', 'events');
    const page = await feed.page({
      ...query,
      signal: ended(reply, closing.signal),
      refuseGap: () => false,
      pick: async (row) => {
        const type = eventType(row);
        if (type === null || (types !== null && !wantsType(types, type))) return null;
        return toEvent(await completed(row));
      },
    });
    return answer(reply, page.position, { events: page.items, position: page.position });
  });

  app.get<OnCollection>('/api/:collection/_changes', async (request: FastifyRequest<OnCollection>, reply) => {
    const { filter, ...query } = parseChangesQuery(request.url);
    const name = parseCollectionName(request.params.collection);
    const scope = policies.scope(request.principal, 'read', name);
    const asked = matchFor(filter, scope, new Date());
    const page = await feed.page({
      ...query,
      signal: ended(reply, closing.signal),
      refuseGap: (row) => row.operation === 'gap',
      pick: async (row) => (row.collection === name ? visible(await completed(row), scope, asked) : null),
    });
    return answer(reply, page.position, { changes: page.items, position: page.position });
  });
}

function answer(reply: FastifyReply, position: string, body: object): FastifyReply {
  return reply.header('millrace-position', position).send(body);
}

/** The question of a request, with its variables filled. */
function matchFor(filter: OpenFilter, { principal }: Scope, now: Date): Match {
  return compileMatch(bind(filter, bindingsOf(principal, now)).filter);
}

/** The event of a row, cut to the states the scope reaches; null when none of these passes the question. */
function visible(row: LogRow, scope: Scope, asked: Match): Event | null {
  let passes = row.key === null;
  const inReach = (body: Buffer | null) => {
    const document = body && readStored(body);
    if (document === null || !reaches(scope, document)) return null;
    passes ||= asked(document);
    return body;
  };
  const cut = { ...row, after: inReach(row.after), before: inReach(row.before) };
  return passes ? toEvent(cut) : null;
}

/** Aborts when the client goes away or the server closes. */
function ended(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}
