/**
 * The codec for decoded documents: turns one into the plain JSON value that clients see. Writes and events use it,
 * because they have the document decoded. The transcoder, which works on bytes (transcode.ts), is tested against it. It
 * accepts documents deserialized with or without `promoteValues`.
 */
import type { Document } from 'mongodb';
import { isPlain, setMember } from '../../kernel/objects.ts';
import { SERVER_MEMBERS } from '../../kernel/server-members.ts';
import { idText } from './ids.ts';
import { dateText, valueToWire } from './wire-values.ts';

export interface WireOptions {
  /** False leaves `_meta` out, for projections that do not include it. Default true. */
  readonly meta?: boolean;
}

/** The reserved member `_meta` as clients see it. Times are ISO 8601, `…By` are ids of principals. */
export interface WireMeta {
  readonly revision: number;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
}

/**
 * A stored document as clients see it: `id` first, its members in stored order, `_meta` last. A document without `_id`
 * (a row of a view) has no `id`.
 */
export function toWire(document: Document, options: WireOptions = {}): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  if (Object.hasOwn(document, '_id')) wire['id'] = idText(document['_id']);
  for (const key of Object.keys(document)) {
    if (!SERVER_MEMBERS.has(key)) setMember(wire, key, valueToWire(document[key]));
  }
  if (options.meta !== false) wire['_meta'] = metaToWire(document['_meta']);
  return wire;
}

/** The five members of `_meta`. A member that another program left out, or wrote with another type, is 0 or null. */
export function metaToWire(stored: unknown): WireMeta {
  const meta = isPlain(stored) ? stored : {};
  const revision = valueToWire(meta['revision']);
  const time = (value: unknown): string | null => (value instanceof Date ? dateText(value) : null);
  const name = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    revision: typeof revision === 'number' && Number.isSafeInteger(revision) ? revision : 0,
    createdAt: time(meta['createdAt']),
    updatedAt: time(meta['updatedAt']),
    createdBy: name(meta['createdBy']),
    updatedBy: name(meta['updatedBy']),
  };
}
