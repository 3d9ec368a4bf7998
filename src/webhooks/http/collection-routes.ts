/**
 * What automation services ask before they subscribe: which collections there are for the client, what the documents of one look
 * like, and samples of its events, exactly as a hook of the client would get them. Not here: subscribing (hook-routes.ts), and
 * sending a sample to an endpoint (endpoint-routes.ts).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { clientOf } from '../../auth/identity/principal.ts';
import type { Collections } from '../../collections/collections.ts';
import { access, type OnCollection } from '../../collections/http/access.ts';
import { notAvailable } from '../../collections/refusals.ts';
import type { Registry } from '../../collections/registry.ts';
import type { DescribedCollections } from '../../collections/sample/described.ts';
import { ASKED_ERRORS, answer, operation } from '../../contract/operation.ts';
import { queryParameter } from '../../contract/parameters.ts';
import { listOf, shape } from '../../contract/schema.ts';
import { COLLECTION, type CollectionName } from '../../database/names.ts';
import { typesOf } from '../../events/log/event.ts';
import { requireTypes, wanting } from '../../events/read/wanted-types.ts';
import { type ErrorCode, MillraceError } from '../../kernel/errors.ts';
import { parameters } from '../../kernel/request.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { parseQuery } from '../../query/parse/parse-query.ts';
import { madeSamples } from '../planning/made-samples.ts';
import type { LogSamples } from '../planning/samples.ts';

const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 50;
const MAX_TYPE_LENGTH = 256;

const tag = 'Webhooks';

const LABEL = shape(
  'CollectionLabel',
  Type.Object({
    name: Type.String({ description: 'As in `/api/{collection}`.' }),
    label: Type.String({ description: 'The name in words, for people.' }),
  }),
);
const SCHEMA = shape(
  'CollectionSchema',
  Type.Object(
    { type: Type.Literal('object'), title: Type.String(), properties: Type.Record(Type.String(), Type.Unknown()) },
    { description: 'A JSON Schema (2020-12).' },
  ),
);
const NAMED: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-name', 'resource-not-available'];

const OPERATIONS = {
  list: operation({
    id: 'collections.readable',
    tag,
    summary: 'List the collections that may be read',
    answers: answer('Those that exist, by name.', listOf(LABEL)),
    errors: ASKED_ERRORS,
  }),
  schema: operation({
    id: 'collections.schema',
    tag,
    summary: 'Get a JSON Schema of the documents of a collection',
    description:
      'From a sample of the 100 newest documents that may be read and 100 at random, with the members that may be read. It ' +
      'promises nothing of the next document.',
    parameters: [COLLECTION],
    answers: answer('The schema.', SCHEMA),
    errors: NAMED,
  }),
  samples: operation({
    id: 'collections.samples',
    tag,
    summary: 'Get samples of the events of a collection',
    description:
      'The newest events of a type that the client may see, each as the body of a hook would be. Where the newest 5,000 rows ' +
      'of the log have none, they are made from the newest documents; their ids begin with `sample_`.',
    parameters: [
      COLLECTION,
      queryParameter(
        'type',
        'An event type of this collection, in which `*` stands for anything; `….created` without it.',
      ),
      queryParameter('limit', `Samples at most; ${DEFAULT_LIMIT} without it.`, {
        type: 'integer',
        minimum: 1,
        maximum: MAX_LIMIT,
        default: DEFAULT_LIMIT,
      }),
    ],
    answers: answer('Bodies of deliveries, the newest first.', listOf(Type.Object({}, { additionalProperties: true }))),
    errors: [...NAMED, 'invalid-parameter'],
  }),
};

export interface DescribedRoutesOptions {
  readonly policies: Policies;
  readonly collections: Pick<Collections, 'list'>;
  readonly registry: Pick<Registry, 'exists'>;
  readonly described: DescribedCollections;
  readonly webhooks: { readonly samples: Pick<LogSamples, 'newestOf'> };
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
}

export async function collectionRoutes(app: FastifyInstance, options: DescribedRoutesOptions): Promise<void> {
  const { policies, collections, registry, described, publicUrl } = options;
  const { samples } = options.webhooks;

  app.get('/collections', { config: OPERATIONS.list }, async (request) => {
    parameters(request, []);
    return described.list(request.principal);
  });

  app.get<OnCollection>('/collections/:collection/schema', { config: OPERATIONS.schema }, async (request) => {
    parameters(request, []);
    const [scope, name] = access(policies, request, 'read');
    return described.schema(scope, name, clientOf(request.asker, request.ip));
  });

  async function made(scope: Scope<'read'>, collection: CollectionName, type: string, limit: number) {
    const newest = parseQuery([
      ['sort', '-id'],
      ['limit', String(limit)],
    ]);
    const { documents } = await collections.list(scope, collection, newest, { within: null });
    if ('next' in documents) throw new TypeError('A page was asked for');
    return madeSamples(documents, { collection, type, publicUrl, now: new Date() });
  }

  app.get<OnCollection>('/collections/:collection/samples', { config: OPERATIONS.samples }, async (request) => {
    const [scope, collection] = access(policies, request, 'read');
    const { type, limit } = parseSampleQuery(request, collection);
    // The log may still tell of a collection that was dropped.
    if (!(await registry.exists(collection))) throw notAvailable(collection);
    const { principal, asker, ip } = request;
    const bodies = await samples.newestOf({ principal, collection, type, limit, whose: clientOf(asker, ip) });
    const found: readonly object[] = bodies.map((body) => JSON.parse(body));
    return found.length > 0 ? found : made(scope, collection, type, limit);
  });
}

/** @throws MillraceError `unknown-parameter`, `invalid-parameter` */
function parseSampleQuery(request: FastifyRequest, collection: CollectionName) {
  const found = parameters(request, ['type', 'limit']);
  const type = found.get('type') ?? `${collection}.created`;
  const limitText = found.get('limit') ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,2}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw invalid('limit', `must be a number from 1 to ${MAX_LIMIT}`);
  if (type.length > MAX_TYPE_LENGTH) throw invalid('type', `must have at most ${MAX_TYPE_LENGTH} characters`);
  requireTypes([type]);
  if (!typesOf(collection).some(wanting([type]))) {
    throw invalid('type', `must be a type of this collection, such as ${collection}.created`);
  }
  return { type, limit };
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
