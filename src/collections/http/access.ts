/**
 * The entry of every request for documents: the name is checked and the Scope is granted before the collection is
 * looked at. So a client without rights learns nothing about what exists.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Action, Principal } from '../../auth/identity/principal.ts';
import { type CollectionName, parseCollectionName } from '../../database/names.ts';
import type { Policies } from '../../policies/policies.ts';
import type { ActionOf, Scope } from '../../policies/scope.ts';
import type { LongAnswers } from '../../policies/standing/long-answers.ts';
import type { QueryParameter } from '../../query/parse/parameters.ts';
import type { Collections } from '../collections.ts';

export interface CollectionRoutesOptions {
  readonly collections: Collections;
  readonly policies: Policies;
  readonly longAnswers: LongAnswers;
  /** Largest answer of a list, in bytes. */
  readonly listBytes: number;
  /**
   * The newest position of the event log that this server has delivered: a list read after it misses no event before
   * it.
   */
  readonly position: () => string;
  /** Answers a list that was asked for as a stream of events, with the parameters of its address. */
  readonly live: (
    request: FastifyRequest,
    reply: FastifyReply,
    parameters: readonly QueryParameter[],
    name: CollectionName,
  ) => FastifyReply;
}

export interface OnCollection {
  Params: { collection: string };
}

export interface OnDocument {
  Params: { collection: string; id: string };
}

/** What is read of a request, from the wire or from inside a batch. */
export interface RequestOnCollection {
  readonly principal: Principal;
  readonly params: { readonly collection: string };
}

/**
 * The Scope of a request and the name of its collection.
 * @throws MillraceError `invalid-name`, `not-authenticated`, `forbidden`
 */
export function access<A extends Action>(
  policies: Policies,
  { principal, params }: RequestOnCollection,
  action: A,
): readonly [Scope<ActionOf<A>, CollectionName>, CollectionName] {
  const name = parseCollectionName(params.collection);
  return [policies.scope(principal, action, name), name];
}

/**
 * The name of the collection of a live answer, which may begin while a value that its policies need is missing.
 * @throws MillraceError as `access`
 */
export function liveAccess(policies: Policies, { principal, params }: RequestOnCollection): CollectionName {
  const name = parseCollectionName(params.collection);
  if (policies.findLive(principal, name) === null) policies.scope(principal, 'read', name);
  return name;
}
