/**
 * What a Scope reaches, asked in two ways that must agree: as a filter of the database, and of a document in hand.
 * Worked out once for each Scope, so that equal requests can be known by the same filter object.
 */
import type { Document } from 'mongodb';
import { or } from '../query/filter.ts';
import { compileMatch, type Match } from '../query/match.ts';
import { toMongo } from '../query/to-mongo.ts';
import type { Scope } from './scope.ts';

interface Reach {
  readonly filter: Document;
  readonly match: Match;
}

const reachOfGrants = new WeakMap<Scope['grants'], Reach>();

function reachOf({ grants }: Scope): Reach {
  const known = reachOfGrants.get(grants);
  if (known) return known;
  const filter = or(grants.map((grant) => grant.filter));
  const reach = { filter: toMongo(filter), match: compileMatch(filter) };
  reachOfGrants.set(grants, reach);
  return reach;
}

/** The Scope as a filter that joins a query; the same object for the same grants. */
export function toDatabaseFilter(scope: Scope): Document {
  return reachOf(scope).filter;
}

/**
 * Whether the Scope reaches a document.
 * @param document as it is stored, with exact types
 */
export function reaches(scope: Scope, document: Document): boolean {
  return reachOf(scope).match(document);
}
