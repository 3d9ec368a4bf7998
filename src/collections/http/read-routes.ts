/**
 * The HTTP face of reading: lists with the query language, by address or by `_query` body, and one document. Not here:
 * the language (query/) and what a list is (listing.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientOf } from '../../auth/identity/principal.ts';
import { encodeDocument } from '../../database/json/json.ts';
import type { CollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { parameters, queryText, requireMediaType } from '../../kernel/request.ts';
import { requireReadable } from '../../policies/reach.ts';
import type { Scope } from '../../policies/scope.ts';
import type { Grants } from '../../policies/standing/standing-rights.ts';
import { type Fields, showsMeta } from '../../query/evaluate/fields.ts';
import { readParameters } from '../../query/parse/parameters.ts';
import { parseQuery, parseQueryJson } from '../../query/parse/parse-query.ts';
import type { Query } from '../../query/parse/query.ts';
import { type PermittedExpansion, toExpansions } from '../read/expansion.ts';
import { cutStored, withIds, withWholeMeta } from '../read/field-selection.ts';
import { requireFields } from '../read/projection.ts';
import { isFresh, parsePreconditions } from '../store/preconditions.ts';
import { access, type CollectionRoutesOptions, liveAccess, type OnCollection, type OnDocument } from './access.ts';
import { READING } from './document-operations.ts';
import { type Begin, sendHead, sendJson, sendList } from './list-response.ts';
import { objectBody } from './request-body.ts';

const STREAM_TYPE = 'text/event-stream';

/** Parameters that say what of a document is shown, and so make sense for a single one. */
const SHOWING: readonly string[] = ['fields', 'expand'];
/** What an address without parameters asks for. It is read once, because most requests for one document have none. */
const PLAIN = parseQuery([]);

export async function readRoutes(app: FastifyInstance, options: CollectionRoutesOptions): Promise<void> {
  const { collections, policies, longAnswers, listBytes, position, live } = options;

  function expansions(request: FastifyRequest, scope: Scope<'read'>, query: Query): PermittedExpansion[] {
    requireReadable(
      scope,
      query.expand.map(({ path }) => path),
    );
    return toExpansions(query.expand, (name) => policies.find(request.principal, 'read', name));
  }

  async function answerList(
    request: FastifyRequest<OnCollection>,
    reply: FastifyReply,
    asked: Query,
  ): Promise<FastifyReply> {
    const query = { ...asked, fields: withWholeMeta(asked.fields) };
    const [scope, name] = access(policies, request, 'read');
    const wanted = expansions(request, scope, query);
    const begin = beginning(request, reply, scope, wanted, name);
    reply.header('millrace-position', position());
    const list = await collections.list(scope, name, query);
    const meta = showsMeta(query.fields);
    const shape = { meta, most: listBytes, begin };
    if (wanted.length === 0) return sendList(reply, list, shape);
    const expand = collections.expander({ expansions: wanted, fields: toCut(query), meta }, clientKey(request));
    return sendList(reply, list, { ...shape, expand });
  }

  /** How a long answer begins with the rights that were asked for now. */
  function beginning(
    request: FastifyRequest,
    reply: FastifyReply,
    scope: Scope<'read'>,
    wanted: readonly PermittedExpansion[],
    place: CollectionName,
  ): Begin {
    const { principal, asker, as, headers } = request;
    const { generation } = policies;
    return (bytes) => {
      const places = [place, ...wanted.map(({ collection }) => collection)];
      const grants: Grants = {
        principal,
        asker,
        as,
        authorization: headers.authorization,
        generation,
        scopes: [scope, ...wanted.map((expansion) => expansion.scope)],
        again: (now) => places.map((one) => policies.find(now, 'read', one)),
      };
      return longAnswers.begin(request, reply.raw, grants, bytes);
    };
  }

  app.get<OnCollection>('/:collection', { config: { ...READING.list, streams: true } }, async (request, reply) => {
    const found = readParameters(queryText(request));
    if (!asksForStream(request)) return answerList(request, reply, parseQuery(found));
    return live(request, reply, found, liveAccess(policies, request));
  });

  app.post<OnCollection>(
    '/:collection/_query',
    { config: { ...READING.query, reads: true } },
    async (request, reply) => {
      parameters(request, []);
      requireMediaType(request, ['application/json']);
      return answerList(request, reply, parseQueryJson(objectBody(request)));
    },
  );

  app.get<OnDocument>('/:collection/:id', { config: READING.get }, async (request, reply) => {
    const { fields: asked, ...query } = parseShowing(queryText(request));
    const fields = withWholeMeta(asked);
    const [scope, name] = access(policies, request, 'read');
    const wanted = expansions(request, scope, { ...query, fields });
    requireFields(scope, fields);
    const found = await collections.get(scope, name, request.params.id);
    reply.header('etag', found.etag);
    const { ifNoneMatch } = parsePreconditions(request.headers);
    // The tag is that of the document alone. Expanded documents may have changed by now, and browsers send
    // `If-None-Match` by themselves; so a request with expansions is never answered "not modified".
    if (wanted.length === 0 && isFresh(ifNoneMatch, found.etag)) {
      reply.code(304);
      return request.method === 'HEAD' ? sendHead(reply) : reply.send();
    }
    const meta = showsMeta(fields);
    const begin = beginning(request, reply, scope, wanted, name);
    if (wanted.length === 0) return sendJson(reply, encodeDocument(cutStored(found.raw, fields), { meta }), begin);
    const { value } = await collections
      .expander(
        { expansions: wanted, fields, meta },
        clientKey(request),
      )([found.raw])
      .next();
    return sendJson(reply, Buffer.concat(value ?? []), begin);
  });
}

function clientKey({ asker, ip }: FastifyRequest): string {
  return clientOf(asker, ip);
}

/** The fields to cut to after the expansion has read the ids; null when the list already holds just these fields. */
function toCut({ fields, expand }: Query): Fields | null {
  return withIds(fields, expand) === fields ? null : fields;
}

function asksForStream({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && headers.accept?.split(',').some((one) => one.trim().startsWith(STREAM_TYPE)) === true;
}

function parseShowing(search: string): Query {
  if (search === '') return PLAIN;
  const found = readParameters(search);
  const other = found.find(([name]) => !SHOWING.includes(name));
  if (other === undefined) return parseQuery(found);
  throw new MillraceError('unknown-parameter', `The parameter '${other[0].slice(0, 80)}' is not known here`, {
    hint: `Known: ${SHOWING.join(', ')}`,
  });
}
