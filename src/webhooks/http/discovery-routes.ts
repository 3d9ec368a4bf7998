/**
 * Routes for automation services before they subscribe: the collections that the client may read, a schema of their
 * documents, and sample events exactly as a hook of the client would receive them.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { clientOf } from '../../auth/identity/principal.ts';
import type { Collections } from '../../collections/collections.ts';
import { notAvailable } from '../../collections/document-errors.ts';
import { access, type OnCollection } from '../../collections/http/access.ts';
import type { Registry } from '../../collections/registry.ts';
import type { CollectionSchemas } from '../../collections/schema/described.ts';
import { COLLECTION, type CollectionName } from '../../database/names.ts';
import { typesOf } from '../../events/log/event.ts';
import { requireTypes, wanting } from '../../events/read/type-patterns.ts';
import { type ErrorCode, MillraceError } from '../../lib/errors.ts';
import { parameters } from '../../lib/request.ts';
import { operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { queryParameter } from '../../openapi/parameters.ts';
import { listOf, shape } from '../../openapi/schema.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { parseQuery } from '../../query/parse/parse-query.ts';
import type { LogSamples } from '../planning/samples.ts';
import { createdSamples } from '../planning/synthetic-samples.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
const MAX_TYPE_LENGTH = 256;

const tag = 'documents';

const LABEL = shape(
  'CollectionLabel',
  Type.Object({
    name: Type.String({ description: 'As in `/api/{collection}`.' }),
    label: Type.String({ description: 'A display name.' }),
  }),
);
const SCHEMA = shape(
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
const NAMED: readonly ErrorCode[] = [...REQUEST_ERRORS, 'invalid-collection-name', 'resource-not-available'];

const OPERATIONS = {
  list: operation({
    id: 'listCollections',
    tag,
    summary: 'List the readable collections',
    responses: response('Existing collections, by name.', listOf(LABEL)),
    errors: REQUEST_ERRORS,
  }),
  schema: operation({
    id: 'getCollectionSchema',
    tag,
    summary: 'Get a JSON Schema of the documents of a collection',
    description:
      'Inferred from a sample of the 500 newest documents that the client may read and 500 at random, with the fields that it may ' +
      'read. It takes two seconds at most, and promises nothing of the next document.',
    parameters: [COLLECTION],
    responses: response('The schema.', SCHEMA),
    errors: NAMED,
  }),
  samples: operation({
    id: 'listCollectionSamples',
    tag,
    summary: 'Get sample events of a collection',
    description:
      'The newest events of a type that the client may read, each as the body of a webhook. If the newest 5,000 rows ' +
      'of the log have none, samples are built from the newest documents; their ids begin with `sample_`.',
    parameters: [
      COLLECTION,
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
    responses: response('Webhook bodies, newest first.', listOf(Type.Object({}, { additionalProperties: true }))),
    errors: [...NAMED, 'invalid-parameter'],
  }),
};

export interface DescribedRoutesOptions {
  readonly policies: Policies;
  readonly collections: Pick<Collections, 'list'>;
  readonly registry: Pick<Registry, 'exists'>;
  readonly described: CollectionSchemas;
  readonly webhooks: { readonly samples: Pick<LogSamples, 'newestOf'> };
  /** The public URL of this server; undefined if unknown. */
  readonly publicUrl: string | undefined;
}

export async function collectionRoutes(app: FastifyInstance, options: DescribedRoutesOptions): Promise<void> {
  const { policies, collections, registry, described, publicUrl } = options;
  const { samples } = options.webhooks;

  app.get('/api', { config: OPERATIONS.list }, async (request) => {
    parameters(request, []);
    return described.list(request.principal);
  });

  app.get<OnCollection>('/api/:collection/_schema', { config: OPERATIONS.schema }, async (request) => {
    parameters(request, []);
    const [scope, name] = access(policies, request, 'read');
    return described.schema(scope, name, clientOf(request.asker, request.ip));
  });

  async function created(scope: Scope<'read'>, collection: CollectionName, type: string, limit: number) {
    const newest = parseQuery([
      ['sort', '-id'],
      ['limit', String(limit)],
    ]);
    const { documents } = await collections.list(scope, collection, newest, { within: null });
    if ('next' in documents) throw new TypeError('A page was requested');
    return createdSamples(documents, { collection, type, publicUrl, now: new Date() });
  }

  app.get<OnCollection>('/api/:collection/_samples', { config: OPERATIONS.samples }, async (request) => {
    const [scope, collection] = access(policies, request, 'read');
    const { type, limit } = parseSampleQuery(request, collection);
    // The log may still have events of a dropped collection.
    if (!(await registry.exists(collection))) throw notAvailable(collection);
    const { principal, asker, ip } = request;
    const bodies = await samples.newestOf({ principal, collection, type, limit, whose: clientOf(asker, ip) });
    const found: readonly object[] = bodies.map((body) => JSON.parse(body));
    return found.length > 0 ? found : created(scope, collection, type, limit);
  });
}

/** @throws MillraceError `unknown-parameter`, `invalid-parameter` */
function parseSampleQuery(request: FastifyRequest, collection: CollectionName) {
  const found = parameters(request, ['eventType', 'limit']);
  const type = found.get('eventType') ?? `${collection}.created`;
  const limitText = found.get('limit') ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,2}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be a number from 1 to ${MAX_LIMIT}`);
  if (type.length > MAX_TYPE_LENGTH) throw invalid('eventType', `must have at most ${MAX_TYPE_LENGTH} characters`);
  requireTypes([type]);
  if (!typesOf(collection).some(wanting([type]))) {
    throw invalid('eventType', `must be a type of this collection, such as ${collection}.created`);
  }
  return { type, limit };
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
