/**
 * The routes of events: the long polls `/events`, for principals that may see all events, and
 * `/api/{collection}/_changes`, for the readers of one collection; and the history of one document.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Document } from 'mongodb';
import type { Authenticator } from '../../auth/authenticator.ts';
import { clientLimitKey, type RequestPrincipal } from '../../auth/identity/principal.ts';
import { parseCollectionName } from '../../database/parse-collection-name.ts';
import { runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { principalBindings } from '../../policies/bindings.ts';
import type { ImpersonationService } from '../../policies/impersonation.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { requireFilterableFields } from '../../policies/scope-filter.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import { filterCost, isExpensiveMatch } from '../../query/evaluate/filter-cost.ts';
import { compileMatcher, type DocumentMatcher } from '../../query/evaluate/match.ts';
import { pathsInFilter } from '../../query/filter.ts';
import { encodeEvent, toFilterableEvent } from '../log/event.ts';
import { resourcesOfRow } from '../log/event-visibility.ts';
import { type LogRow, rowBytesWithDocument } from '../log/log-row.ts';
import type { DocumentHistory } from '../read/document-history.ts';
import { readableEventCollections } from '../read/event-access.ts';
import type { Feed, FeedPage, FeedPageQuery } from '../read/feed.ts';
import { trackFeedPrincipal } from '../read/feed-principal.ts';
import { parseChangesQuery, parseEventsQuery, parseHistoryQuery } from '../read/feed-query.ts';
import { redactCollectionNames, redactMatchingRow } from '../read/redact-row.ts';
import { eventTypeMatcher, matchesRowType } from '../read/type-patterns.ts';
import { COLLECTION_CHANGES_OPERATION, DOCUMENT_HISTORY_OPERATION, LIST_EVENTS_OPERATION } from './event-openapi.ts';

export interface EventRoutesOptions {
  readonly policies: Policies;
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'onRevoked'>;
  readonly impersonation: ImpersonationService;
  readonly events: {
    readonly feed: Feed;
    readonly history: DocumentHistory;
    /** Adds the current document to a row whose own documents were too large. */
    readonly completed: (row: LogRow) => Promise<LogRow>;
    /** Rejects a collection without change events. */
    readonly requireChanges: (collection: string) => Promise<void>;
  };
}

interface OnCollection {
  Params: { collection: string };
}

interface OnDocument {
  Params: { collection: string; id: string };
}

export async function eventRoutes(
  app: FastifyInstance,
  { policies, authenticator, impersonation, events }: EventRoutesOptions,
): Promise<void> {
  const { feed, history, completed, requireChanges } = events;
  const closing = new AbortController();
  /** Yields for readers that scan much of the log, or use expensive filters on large documents. */
  const fairYield = new FairScheduler();
  app.addHook('preClose', async () => closing.abort());

  /**
   * True for a key that sees only the events that policies allow. False for a principal that may see all events.
   * @throws MillraceError `not-authenticated`, `forbidden` for all other principals
   */
  function isLimited(principal: RequestPrincipal): boolean {
    if (policies.find(principal, 'read', '_events') !== null) return false;
    if (principal.kind === 'key') return true;
    policies.scope(principal, 'read', '_events');
    return false;
  }

  /** A page of the feed. While it waits, the reader's principal is kept current. */
  async function pageFor<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    query: Omit<FeedPageQuery<T>, 'signal' | 'pick' | 'whose' | 'lane'>,
    pick: (row: LogRow, principal: RequestPrincipal) => Promise<T | null>,
  ): Promise<FeedPage<T>> {
    const who = trackFeedPrincipal({ authenticator, impersonation }, request, request.headers.authorization);
    try {
      const signal = ended(reply, closing.signal);
      const whose = clientLimitKey(request.asker, request.ip);
      const lane = fairYield.createTask(request.socket);
      return await feed.page({
        ...query,
        signal,
        whose,
        lane,
        pick: async (row) => pick(row, await who.currentPrincipal()),
      });
    } finally {
      who.end();
    }
  }

  app.get('/events', { config: LIST_EVENTS_OPERATION }, async (request, reply) => {
    const { types: requested, filter, ...query } = parseEventsQuery(request.url);
    const types = requested ?? ['*'];
    const turn = () => fairYield.waitTurn(request.socket);
    // Checked before anything is read.
    if (isLimited(request.principal)) readableEventCollections(policies, request.principal, types);
    const wants = eventTypeMatcher(types);
    const cost = filterCost(filter);
    const matchOf = (principal: RequestPrincipal): DocumentMatcher =>
      compileMatcher(bindVariables(filter, principalBindings(principal, new Date())).filter);
    let tests = { by: request.principal, match: matchOf(request.principal) };
    /** The event of a redacted row, if the filter matches. */
    const passed = async (row: LogRow, principal: RequestPrincipal): Promise<Buffer | null> => {
      if (cost === 0) return encodeEvent(row);
      if (tests.by !== principal) tests = { by: principal, match: matchOf(principal) };
      const { match } = tests;
      const passes = () => match(toFilterableEvent(row));
      return (isExpensiveMatch(cost, rowBytesWithDocument(row)) ? await runCooperatively(passes, turn) : passes())
        ? encodeEvent(row)
        : null;
    };
    const page = await pageFor(request, reply, { ...query, refuseGap: () => false }, async (row, principal) => {
      if (!matchesRowType(wants, row)) return null;
      if (!isLimited(principal) && !resourcesOfRow(row).includes('_admin:accounts'))
        return await passed(await completed(row), principal);
      const named = redactCollectionNames(row, (resource) => policies.find(principal, 'read', resource));
      if (named === null || !matchesRowType(wants, named.row)) return null;
      const whole = await completed(named.row);
      const seen = await redactMatchingRow(whole, named.scope, null, turn);
      return seen && (await passed(seen, principal));
    });
    return response(reply, page, 'events');
  });

  app.get<OnCollection>(
    '/api/:collection/_changes',
    { config: COLLECTION_CHANGES_OPERATION },
    async (request, reply) => {
      const { filter, ...query } = parseChangesQuery(request.url);
      const name = parseCollectionName(request.params.collection);
      /** The current Scope: policies may change while a reader waits. */
      const scopeOf = (principal: RequestPrincipal): Scope<'read'> => {
        const scope = policies.scope(principal, 'read', name);
        requireFilterableFields(scope, pathsInFilter(filter));
        return scope;
      };
      scopeOf(request.principal);
      await requireChanges(name);
      const now = new Date();
      const cost = filterCost(filter);
      const turn = () => fairYield.waitTurn(request.socket);
      const matchOf = (principal: RequestPrincipal): DocumentMatcher =>
        compileMatcher(bindVariables(filter, principalBindings(principal, now)).filter);
      let requested = { by: request.principal, match: matchOf(request.principal) };
      const gap = (row: LogRow) => row.operation === 'gap';
      const page = await pageFor(request, reply, { ...query, refuseGap: gap }, async (row, principal) => {
        // A collection that is the target of a rename loses its documents, and no other row says so.
        if (row.collection !== name && row.to !== name) return null;
        if (requested.by !== principal) requested = { by: principal, match: matchOf(principal) };
        const scope = scopeOf(principal);
        const named = redactCollectionNames(row, (resource) =>
          resource === name ? scope : policies.find(principal, 'read', resource),
        );
        if (named === null) return null;
        const whole = await completed(named.row);
        const { match } = requested;
        const isLong = isExpensiveMatch(cost, rowBytesWithDocument(whole));
        const requests = isLong ? (state: Document) => runCooperatively(() => match(state), turn) : match;
        const seen = await redactMatchingRow(whole, named.scope, cost === 0 ? null : requests, turn);
        return seen && encodeEvent(seen);
      });
      return response(reply, page, 'changes');
    },
  );

  app.get<OnDocument>(
    '/api/:collection/:id/_history',
    { config: DOCUMENT_HISTORY_OPERATION },
    async (request, reply) => {
      const query = parseHistoryQuery(request);
      const collection = parseCollectionName(request.params.collection);
      const scope = policies.scope(request.principal, 'read', collection);
      await requireChanges(collection);
      const whose = clientLimitKey(request.asker, request.ip);
      const lane = fairYield.createTask(request.socket);
      const turn = () => fairYield.waitTurn(request.socket);
      const pick = async (row: LogRow) => {
        const seen = await redactMatchingRow(await completed(row), scope, null, turn);
        return seen && encodeEvent(seen);
      };
      const { items, next } = await history.page({ ...query, collection, id: request.params.id, pick, whose, lane });
      return send(reply, 'events', items, { next });
    },
  );
}

/** Sends a page of a feed. */
function response(reply: FastifyReply, { items, position }: FeedPage<Buffer>, name: string): FastifyReply {
  return send(reply.header('millrace-position', position), name, items, { position });
}

/** Sends events, which are JSON already, and another field after them. */
function send(reply: FastifyReply, name: string, items: readonly Buffer[], last: object): FastifyReply {
  const listed = items.flatMap((item, index) => (index === 0 ? [item] : [COMMA, item]));
  const end = Buffer.from(`],${JSON.stringify(last).slice(1)}`);
  const body = Buffer.concat([Buffer.from(`{"${name}":[`), ...listed, end]);
  return reply.type('application/json; charset=utf-8').send(body);
}

const COMMA = Buffer.from(',');

/** Aborts when the client disconnects or the server closes. */
function ended(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return AbortSignal.any([gone.signal, closing]);
}
