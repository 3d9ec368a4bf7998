/**
 * Whether a change keeps the order of fields. The database may log only the difference of an update, and its change
 * stream then shows a moved field at its old position: the logged document has another order than the stored one, and
 * an embedded document in another order is another value. A replacement is logged whole. Pure.
 */
import type { Document } from 'mongodb';
import type { OrderedDocument } from '../../database/bson/stored-document.ts';
import { isPlainObject } from '../../lib/plain-object.ts';

/** A new state for a document that is still exactly what was read. */
export interface DocumentChange {
  readonly id: unknown;
  readonly old: Document | OrderedDocument;
  readonly next: Document | OrderedDocument;
}

/** Clients always see it last, wherever it is stored. */
const META = '_meta';

/**
 * True if a change needs a replacement: fields have moved, and no name begins with `$`, which the server does not
 * accept in replacements.
 */
export function needsFullReplacement({ old, next }: DocumentChange): boolean {
  return !keepsPositions(old, next) && !namesOf(next).some((name) => name.startsWith('$'));
}

/** Whether remaining fields keep their order, before new ones, in embedded documents too. */
function keepsPositions(old: Document | OrderedDocument, next: Document | OrderedDocument): boolean {
  const before = namesOf(old).filter((name) => name !== META);
  const after = namesOf(next).filter((name) => name !== META);
  const there = new Set(after);
  let at = 0;
  for (const name of before) {
    if (!there.has(name)) continue;
    if (after[at] !== name || !keepsWithin(getField(old, name), getField(next, name))) return false;
    at++;
  }
  return true;
}

function keepsWithin(old: unknown, next: unknown): boolean {
  if (Array.isArray(old)) return !Array.isArray(next) || next.every((value, at) => keepsWithin(old[at], value));
  return !isDocument(old) || !isDocument(next) || keepsPositions(old, next);
}

function isDocument(value: unknown): value is Document | OrderedDocument {
  return value instanceof Map || isPlainObject(value);
}

/** Its field names, in their order. */
function namesOf(document: Document | OrderedDocument): string[] {
  return document instanceof Map ? [...document.keys()] : Object.keys(document);
}

/** The value of a field, or undefined. */
export function getField(document: Document | OrderedDocument, name: string): unknown {
  return document instanceof Map ? document.get(name) : document[name];
}
