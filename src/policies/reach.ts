/**
 * What a Scope reaches, asked in two ways that must agree: as a filter of the database, and of a document in hand.
 */
import type { Document } from 'mongodb';
import { everything } from '../query/filter.ts';
import type { Scope } from './scope.ts';

const ALL: Document = Object.freeze({});
const NONE: Document = Object.freeze({ $nor: [{}] });

/** The Scope as a filter that joins a query; the same object each time, so that equal requests can be known by it. */
export function toDatabaseFilter(scope: Scope): Document {
  return reachesAll(scope) ? ALL : NONE;
}

/** Whether the Scope reaches this document, as it is stored. */
export function reaches(scope: Scope, _document: Document): boolean {
  return reachesAll(scope);
}

/** The only Scope there is so far; any other reaches nothing. */
function reachesAll(scope: Scope): boolean {
  return scope.grants.some(({ filter }) => filter === everything);
}
