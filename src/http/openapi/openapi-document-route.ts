/**
 * The OpenAPI document as one principal sees it: the routes, the endpoints of plugins, and the existing collections
 * that it may read. Cached for a few seconds.
 */
import type { FastifyInstance } from 'fastify';
import { type Principal, toActorId } from '../../auth/identity/principal.ts';
import type { CollectionList } from '../../collections/schema/collection-list.ts';
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters } from '../../lib/request.ts';
import { excludeFromOpenApi } from '../../openapi/operation.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Scope } from '../../policies/scope.ts';
import { type DeclaredRoute, type HttpFunctionSummary, type OpenApiDocument, toOpenApi } from './openapi.ts';

const CACHE_MS = 3_000;
/** Cached documents, one per principal. */
const MAX_KEPT = 50;

export interface OpenApiDeps {
  readonly seen: Pick<CollectionList, 'of'>;
  readonly version: string;
  /** The path below which clients reach this server; empty for none. */
  readonly basePath?: string;
  /** All routes in the document. */
  readonly routes: readonly DeclaredRoute[];
  /** The HTTP functions of enabled plugins; none when absent. */
  readonly endpoints?: () => readonly HttpFunctionSummary[];
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

interface Kept {
  readonly until: number;
  readonly openApi: Promise<OpenApiDocument>;
}

export class OpenApiDocuments {
  readonly #deps: OpenApiDeps;
  readonly #kept = new Map<string, Kept>();

  constructor(deps: OpenApiDeps) {
    this.#deps = deps;
  }

  get({ principal }: Scope<'read', '_admin'>): Promise<OpenApiDocument> {
    const key = toActorId(principal) ?? 'anonymous';
    const now = this.#deps.now?.() ?? performance.now();
    const kept = this.#kept.get(key);
    if (kept !== undefined && kept.until > now) return kept.openApi;
    const openApi = this.#build(principal);
    this.#kept.delete(key);
    this.#kept.set(key, { until: now + CACHE_MS, openApi });
    openApi.catch(() => this.#kept.delete(key));
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    return openApi;
  }

  async #build(principal: Principal): Promise<OpenApiDocument> {
    const { seen, version, routes, endpoints, basePath } = this.#deps;
    return toOpenApi(routes, await seen.of(principal), version, endpoints?.(), basePath);
  }
}

export interface OpenApiRoutesOptions {
  readonly policies: Policies;
  readonly openApi: OpenApiDocuments;
}

/** Serves the OpenAPI document, or its part with some tags. */
export async function openApiDocumentRoute(
  app: FastifyInstance,
  { policies, openApi }: OpenApiRoutesOptions,
): Promise<void> {
  app.get('/openapi.json', { config: excludeFromOpenApi('The OpenAPI document itself') }, async (request) => {
    const scope = policies.scope(request.principal, 'read', '_admin');
    const tags = parseQueryParameters(request, ['tags']).get('tags');
    if (tags === '') throw new MillraceError('invalid-parameter', "The parameter 'tags' must not be empty");
    const whole = await openApi.get(scope);
    if (tags === null) return whole;
    const { filterByTags } = await import('./filter-by-tags.ts');
    return filterByTags(whole, tags.split(','));
  });
}
