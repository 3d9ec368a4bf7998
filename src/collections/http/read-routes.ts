/** Read routes: lists by URL or by `_query` body, and single documents. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientLimitKey } from '../../auth/identity/principal.ts';
import { encodeDocumentJson } from '../../database/json/json.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters, queryString, requireMediaType } from '../../lib/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { RightsAtRequestStart } from '../../policies/revalidation/revalidation.ts';
import type { Scope } from '../../policies/scope.ts';
import { requireFilterableFields } from '../../policies/scope-filter.ts';
import { type FieldSelection, includesMeta } from '../../query/evaluate/field-selection.ts';
import { parseQuery, parseQueryJson } from '../../query/parse/parse-query.ts';
import { parseQueryString } from '../../query/parse/parse-query-string.ts';
import type { Query } from '../../query/parse/query.ts';
import { type PermittedExpansion, toPermittedExpansions } from '../read/expansion.ts';
import { selectFieldsForExpand, selectStoredFields, withWholeMeta } from '../read/field-selection.ts';
import { requireVisibleFields } from '../read/projection.ts';
import { matchesIfNoneMatch, parsePreconditions } from '../store/preconditions.ts';
import {
  type CollectionRouteGeneric,
  type CollectionRoutesOptions,
  type DocumentRouteGeneric,
  requireCollectionScope,
  requireLiveQueryAccess,
} from './collection-access.ts';
import { DOCUMENT_READ_OPERATIONS } from './document-openapi.ts';
import { sendHeadResponse, sendJson, sendList } from './list-response.ts';
import { parseObjectBody } from './request-body.ts';

const STREAM_TYPE = 'text/event-stream';

/** Parameters that select what of a document is included, and so apply to a single one. */
const SHOWING: readonly string[] = ['fields', 'expand'];
/** The query of a URL without parameters, parsed once, because most requests for one document have none. */
const PLAIN = parseQuery([]);

/** Lengths of query strings, and how many of them, are remembered. */
const REMEMBERED = { characters: 512, queries: 500 };

/**
 * Parses query strings of lists. Equal ones get the same Query while they are remembered: clients of one page send the
 * same query again and again, and equal queries share what is computed for them.
 */
class ParsedQueries {
  readonly #known = new Map<string, Query>();

  /** @throws MillraceError what is wrong with a parameter */
  parse(search: string): Query {
    const known = this.#known.get(search);
    if (known !== undefined) return known;
    const query = parseQuery(parseQueryString(search));
    if (search.length > REMEMBERED.characters) return query;
    if (this.#known.size >= REMEMBERED.queries) this.#known.clear();
    this.#known.set(search, query);
    return query;
  }
}

export async function readRoutes(app: FastifyInstance, options: CollectionRoutesOptions): Promise<void> {
  const { collections, policies, streamedResponses, listBytes, position, live } = options;
  const queries = new ParsedQueries();

  async function listDocuments(
    request: FastifyRequest<CollectionRouteGeneric>,
    reply: FastifyReply,
    requested: Query,
  ): Promise<FastifyReply> {
    const fields = withWholeMeta(requested.fields);
    const query = fields === requested.fields ? requested : { ...requested, fields };
    const [scope, name] = requireCollectionScope(policies, request, 'read');
    const expansions = permittedExpansions(policies, request, scope, query);
    const rights = initialRights(policies, request, scope, name, expansions);
    reply.header('millrace-position', position());
    const begun = performance.now();
    const list = await collections.list(scope, name, query, undefined, expansions.length === 0);
    const hints = await collections.listHints({ scope, name, query, list, tookMs: performance.now() - begun });
    const meta = includesMeta(query.fields);
    const shape = { expansions, fields: toCut(query), meta };
    const expand = expansions.length === 0 ? null : collections.expander(shape, clientKey(request));
    return sendList(reply, list, { hints, meta, expand, most: listBytes, streamedResponses, rights });
  }

  app.get<CollectionRouteGeneric>(
    '/:collection',
    { config: { ...DOCUMENT_READ_OPERATIONS.list, streams: true } },
    async (request, reply) => {
      const search = queryString(request);
      if (!requestsForStream(request)) return listDocuments(request, reply, queries.parse(search));
      return live(request, reply, parseQueryString(search), requireLiveQueryAccess(policies, request));
    },
  );

  app.post<CollectionRouteGeneric>(
    '/:collection/_query',
    { config: { ...DOCUMENT_READ_OPERATIONS.query, reads: true } },
    async (request, reply) => {
      parseQueryParameters(request, []);
      requireMediaType(request, ['application/json']);
      return listDocuments(request, reply, parseQueryJson(parseObjectBody(request)));
    },
  );

  app.get<DocumentRouteGeneric>(
    '/:collection/:id',
    { config: DOCUMENT_READ_OPERATIONS.get },
    async (request, reply) => {
      const { fields: requested, ...query } = parseShowing(queryString(request));
      const fields = withWholeMeta(requested);
      const [scope, name] = requireCollectionScope(policies, request, 'read');
      const expansions = permittedExpansions(policies, request, scope, { ...query, fields });
      requireVisibleFields(scope, fields);
      const found = await collections.get(scope, name, request.params.id);
      reply.header('etag', found.etag);
      const { ifNoneMatch } = parsePreconditions(request.headers);
      // The tag covers the document alone. Expanded documents may have changed by now, and browsers send `If-None-Match`
      // by themselves; so the response to a request with expansions is never 304.
      if (expansions.length === 0 && matchesIfNoneMatch(ifNoneMatch, found.etag)) {
        reply.code(304);
        return request.method === 'HEAD' ? sendHeadResponse(reply) : reply.send();
      }
      const meta = includesMeta(fields);
      const streaming = { streamedResponses, rights: initialRights(policies, request, scope, name, expansions) };
      if (expansions.length === 0)
        return sendJson(reply, encodeDocumentJson(selectStoredFields(found.raw, fields), { meta }), streaming);
      const expand = collections.expander({ expansions, fields, meta }, clientKey(request));
      const { value } = await expand([found.raw]).next();
      return sendJson(reply, Buffer.concat(value ?? []), streaming);
    },
  );
}

/** The expansions of a query, each as far as the reader may read the other collection. */
function permittedExpansions(
  policies: Policies,
  { principal }: FastifyRequest,
  scope: Scope<'read'>,
  { expand }: Query,
): PermittedExpansion[] {
  requireFilterableFields(
    scope,
    expand.map(({ path }) => path),
  );
  return toPermittedExpansions(expand, (name) => policies.find(principal, 'read', name));
}

/** The rights that were just checked: a streamed response continues while they hold. */
function initialRights(
  policies: Policies,
  { principal, asker, as, headers }: FastifyRequest,
  scope: Scope<'read'>,
  name: CollectionName,
  expansions: readonly PermittedExpansion[],
): RightsAtRequestStart {
  const resources = [name, ...expansions.map(({ collection }) => collection)];
  return {
    principal,
    asker,
    as,
    authorization: headers.authorization,
    generation: policies.generation,
    scopes: [scope, ...expansions.map((expansion) => expansion.scope)],
    renewScopes: (now) => resources.map((one) => policies.find(now, 'read', one)),
  };
}

function clientKey({ asker, ip }: FastifyRequest): string {
  return clientLimitKey(asker, ip);
}

/** The fields to cut to after the expansion has read the ids; null when the list already contains just these fields. */
function toCut({ fields, expand }: Query): FieldSelection | null {
  return selectFieldsForExpand(fields, expand) === fields ? null : fields;
}

function requestsForStream({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.accept?.split(',').some((one) => one.trim().startsWith(STREAM_TYPE)) === true;
}

function parseShowing(search: string): Query {
  if (search === '') return PLAIN;
  const found = parseQueryString(search);
  const other = found.find(([name]) => !SHOWING.includes(name));
  if (other === undefined) return parseQuery(found);
  throw new MillraceError('unknown-parameter', `The parameter '${other[0].slice(0, 80)}' is unknown`, {
    hint: `Known: ${SHOWING.join(', ')}`,
  });
}
