/**
 * Routes for automation services before they subscribe: the collections that the client may read, a schema of their
 * documents, and sample events exactly as a hook of the client would receive them.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { clientLimitKey } from '../../auth/identity/principal.ts';
import type { CollectionRegistry } from '../../collections/collection-registry.ts';
import type { Collections } from '../../collections/collections.ts';
import { collectionNotAvailable } from '../../collections/document-errors.ts';
import { type CollectionRouteGeneric, requireCollectionScope } from '../../collections/http/collection-access.ts';
import type { InferredCollectionSchemas } from '../../collections/schema/inferred-collection-schemas.ts';
import { COLLECTION_PARAMETER, type CollectionName } from '../../database/parse-collection-name.ts';
import { collectionEventTypes } from '../../events/log/event.ts';
import { eventTypeMatcher, requireEventTypes } from '../../events/read/type-patterns.ts';
import { type ErrorCode, MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { declareOperation, jsonResponse, QUERY_PARAMETER_ERRORS } from '../../openapi/operation.ts';
import { queryParameter } from '../../openapi/parameters.ts';
import { arraySchema, namedSchema } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { parseQuery } from '../../query/parse/parse-query.ts';
import type { EventSamples } from '../planning/event-samples.ts';
import { createSampleEvents } from '../planning/synthetic-samples.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
const MAX_TYPE_LENGTH = 256;

const tag = 'documents';

const LABEL = namedSchema(
  'CollectionLabel',
  Type.Object({
    name: Type.String({ description: 'As in `/api/{collection}`.' }),
    label: Type.String({ description: 'A display name.' }),
  }),
);
const SCHEMA = namedSchema(
  'CollectionSchema',
  Type.Object(
    {
      type: Type.Literal('object'),
      title: Type.String(),
      'x-sampled': Type.Integer({ description: 'Number of documents in the sample.' }),
      'x-complete': Type.Boolean({ description: 'False if a limit left something out.' }),
      properties: Type.Record(Type.String(), Type.Unknown()),
    },
    {
      description:
        'A JSON Schema (2020-12). `x-documents` of a field counts the sampled documents that have it, `x-types` these by type, and ' +
        '`x-reference` is the collection whose documents its values probably name.',
    },
  ),
);
const NAMED: readonly ErrorCode[] = [...QUERY_PARAMETER_ERRORS, 'invalid-collection-name', 'resource-not-available'];

const OPERATIONS = {
  list: declareOperation({
    id: 'listCollections',
    tag,
    summary: 'List the readable collections',
    responses: jsonResponse('Existing collections, by name.', arraySchema(LABEL)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  schema: declareOperation({
    id: 'getCollectionSchema',
    tag,
    summary: 'Get a JSON Schema of the documents of a collection',
    description:
      'Inferred from a sample of the 500 newest documents that the client may read and 500 at random, with the fields that it may ' +
      'read. It takes two seconds at most, and promises nothing of the next document.',
    parameters: [COLLECTION_PARAMETER],
    responses: jsonResponse('The schema.', SCHEMA),
    errors: NAMED,
  }),
  samples: declareOperation({
    id: 'listCollectionSamples',
    tag,
    summary: 'Get sample events of a collection',
    description:
      'The newest events of a type that the client may read, each as the body of a webhook. If the newest 5,000 rows ' +
      'of the log have none, samples are built from the newest documents; their ids begin with `sample_`.',
    parameters: [
      COLLECTION_PARAMETER,
      queryParameter(
        'eventType',
        'An event type of this collection, in which `*` stands for anything; `….created` without it.',
        undefined,
        'sampleType',
      ),
      queryParameter(
        'limit',
        `Samples at most; ${DEFAULT_LIMIT} without it.`,
        {
          type: 'integer',
          minimum: 1,
          maximum: MAX_LIMIT,
          default: DEFAULT_LIMIT,
        },
        'sampleLimit',
      ),
    ],
    responses: jsonResponse(
      'Webhook bodies, newest first.',
      arraySchema(Type.Object({}, { additionalProperties: true })),
    ),
    errors: [...NAMED, 'invalid-parameter'],
  }),
};

export interface DiscoveryRoutesOptions {
  readonly policies: Policies;
  readonly collections: Pick<Collections, 'list'>;
  readonly registry: Pick<CollectionRegistry, 'exists'>;
  readonly described: InferredCollectionSchemas;
  readonly samples: Pick<EventSamples, 'newestOf'>;
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
}

export async function discoveryRoutes(app: FastifyInstance, options: DiscoveryRoutesOptions): Promise<void> {
  const { policies, collections, registry, described, samples, publicUrl } = options;

  app.get('/api', { config: OPERATIONS.list }, async (request) => {
    parseQueryParameters(request, []);
    return described.list(request.principal);
  });

  app.get<CollectionRouteGeneric>('/api/:collection/_schema', { config: OPERATIONS.schema }, async (request) => {
    parseQueryParameters(request, []);
    const [scope, name] = requireCollectionScope(policies, request, 'read');
    return described.schema(scope, name, clientLimitKey(request.asker, request.ip));
  });

  async function created(scope: Scope<'read'>, collection: CollectionName, type: string, limit: number) {
    const newest = parseQuery([
      ['sort', '-id'],
      ['limit', String(limit)],
    ]);
    const { documents } = await collections.list(scope, collection, newest);
    return createSampleEvents(documents, { collection, type, publicUrl, now: new Date() });
  }

  app.get<CollectionRouteGeneric>('/api/:collection/_samples', { config: OPERATIONS.samples }, async (request) => {
    const [scope, collection] = requireCollectionScope(policies, request, 'read');
    const { type, limit } = parseSampleQuery(request, collection);
    // The log may still have events of a dropped collection.
    if (!(await registry.exists(collection))) throw collectionNotAvailable(collection);
    const { principal, asker, ip } = request;
    const bodies = await samples.newestOf({ principal, collection, type, limit, client: clientLimitKey(asker, ip) });
    const found: readonly object[] = bodies.map((body) => JSON.parse(body));
    return found.length > 0 ? found : created(scope, collection, type, limit);
  });
}

/** @throws MillraceError `unknown-parameter`, `invalid-parameter` */
function parseSampleQuery(request: FastifyRequest, collection: CollectionName) {
  const found = parseQueryParameters(request, ['eventType', 'limit']);
  const type = found.get('eventType') ?? `${collection}.created`;
  const limitText = found.get('limit') ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,2}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be a number from 1 to ${MAX_LIMIT}`);
  if (type.length > MAX_TYPE_LENGTH) throw invalid('eventType', `must have at most ${MAX_TYPE_LENGTH} characters`);
  requireEventTypes([type]);
  if (!collectionEventTypes(collection).some(eventTypeMatcher([type]))) {
    throw invalid('eventType', `must be a type of this collection, such as ${collection}.created`);
  }
  return { type, limit };
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
