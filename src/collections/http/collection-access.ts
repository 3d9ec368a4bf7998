/**
 * Entry point of every document request: the name is checked and the Scope is granted before the collection is read. A
 * client without rights cannot learn what exists.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal, ResourceAction } from '../../auth/identity/principal.ts';
import { type CollectionName, parseCollectionName } from '../../database/parse-collection-name.ts';
import type { Policies } from '../../policies/policies.ts';
import type { StreamedResponses } from '../../policies/revalidation/streamed-responses.ts';
import type { Scope, ScopeAction } from '../../policies/scope.ts';
import type { QueryParameter } from '../../query/parse/parse-query-string.ts';
import type { Collections } from '../collections.ts';

export interface CollectionRoutesOptions {
  readonly collections: Collections;
  readonly policies: Policies;
  readonly streamedResponses: StreamedResponses;
  /** Maximum size of a list response, in bytes. */
  readonly listBytes: number;
  /**
   * The newest position of the event log that this server has delivered: a list read after it misses no earlier event.
   */
  readonly position: () => string;
  /** Responds to a list request for an event stream, with the parameters of its URL. */
  readonly live: (
    request: FastifyRequest,
    reply: FastifyReply,
    parameters: readonly QueryParameter[],
    name: CollectionName,
  ) => FastifyReply;
}

export interface CollectionRouteGeneric {
  Params: { collection: string };
}

export interface DocumentRouteGeneric {
  Params: { collection: string; id: string };
}

/** What is read from a request, alone or inside a batch. */
export interface CollectionRequest {
  readonly principal: Principal;
  readonly params: { readonly collection: string };
}

/**
 * The Scope of a request and the name of its collection.
 * @throws MillraceError `invalid-collection-name`, `not-authenticated`, `forbidden`
 */
export function requireCollectionScope<A extends ResourceAction>(
  policies: Policies,
  { principal, params }: CollectionRequest,
  action: A,
): readonly [Scope<ScopeAction<A>, CollectionName>, CollectionName] {
  const name = parseCollectionName(params.collection);
  return [policies.scope(principal, action, name), name];
}

/**
 * The name of the collection of a live query, which may start while a value that its policies need is missing.
 * @throws MillraceError as `access`
 */
export function requireLiveQueryAccess(policies: Policies, { principal, params }: CollectionRequest): CollectionName {
  const name = parseCollectionName(params.collection);
  if (policies.findLive(principal, name) === null) policies.scope(principal, 'read', name);
  return name;
}
