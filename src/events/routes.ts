/**
 * The HTTP face of events: `/events` for who may see all of them, `/api/{collection}/_changes` for the readers of one
 * collection, both as long polls. What may be seen is the policies' answer; each reader gets an envelope of its own.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseCollectionName } from '../database/names.ts';
import { bindingsOf } from '../policies/bindings.ts';
import type { Policies } from '../policies/policies.ts';
import { requireReadable } from '../policies/reach.ts';
import type { Scope } from '../policies/scope.ts';
import { bind } from '../query/bind.ts';
import { pathsOf } from '../query/filter.ts';
import { compileMatch } from '../query/match.ts';
import { eventType, toEvent } from './event.ts';
import type { Feed } from './feed.ts';
import { parseChangesQuery, parseEventsQuery, wantsType } from './feed-query.ts';
import type { LogRow } from './row.ts';
import { placeOfRow } from './row-place.ts';
import { seenRow } from './seen.ts';

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
    const { principal } = request;
    // A key sees of the events what it may read; what concerns the system is for owners.
    const limited = principal.kind === 'key' && policies.find(principal, 'read', 'events') === null;
    if (!limited || principal.actions?.includes('read') === false) policies.scope(principal, 'read', 'events');
    const page = await feed.page({
      ...query,
      signal: ended(reply, closing.signal),
      refuseGap: () => false,
      pick: async (row) => {
        const type = eventType(row);
        if (type === null || (types !== null && !wantsType(types, type))) return null;
        const place = placeOfRow(row.collection);
        if (!limited && place !== 'admin:accounts') return toEvent(await completed(row));
        const scope = policies.find(principal, 'read', place);
        const seen = scope && seenRow(await completed(row), scope, () => true);
        return seen && toEvent(seen);
      },
    });
    return answer(reply, page.position, { events: page.items, position: page.position });
  });

  app.get<OnCollection>('/api/:collection/_changes', async (request: FastifyRequest<OnCollection>, reply) => {
    const { filter, ...query } = parseChangesQuery(request.url);
    const name = parseCollectionName(request.params.collection);
    const asked = compileMatch(bind(filter, bindingsOf(request.principal, new Date())).filter);
    /** The Scope as it is now: policies may change while a reader waits. */
    const scopeNow = (): Scope => {
      const scope = policies.scope(request.principal, 'read', name);
      requireReadable(scope, pathsOf(filter));
      return scope;
    };
    scopeNow();
    const page = await feed.page({
      ...query,
      signal: ended(reply, closing.signal),
      refuseGap: (row) => row.operation === 'gap',
      pick: async (row) => {
        if (row.collection !== name) return null;
        const seen = seenRow(await completed(row), scopeNow(), asked);
        return seen && toEvent(seen);
      },
    });
    return answer(reply, page.position, { changes: page.items, position: page.position });
  });
}

function answer(reply: FastifyReply, position: string, body: object): FastifyReply {
  return reply.header('millrace-position', position).send(body);
}

/** Aborts when the client goes away or the server closes. */
function ended(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}
