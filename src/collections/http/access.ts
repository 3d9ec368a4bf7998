/**
 * The entry of every request for documents: the name is checked and the Scope is granted before the collection is
 * looked at. So a client without rights learns nothing about what exists.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type CollectionName, parseCollectionName } from '../../database/names.ts';
import type { Policies } from '../../policies/policies.ts';
import type { Action, Scope } from '../../policies/scope.ts';
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

export type Enter = (request: FastifyRequest<OnCollection>, action: Action) => readonly [Scope, CollectionName];

/** @returns a function that throws `invalid-name`, `not-authenticated` or `forbidden` */
export function gate(policies: Policies): Enter {
  return (request, action) => {
    const name = parseCollectionName(request.params.collection);
    return [policies.scope(request.principal, action, name), name];
  };
}
