/**
 * The codec for decoded documents: turns one into the plain JSON value that clients see. Writes and events use it,
 * because they have the document decoded. The byte transcoder (transcode.ts) is tested against it. It accepts documents
 * deserialized with or without `promoteValues`.
 */
import type { Document } from 'mongodb';
import { countStepAndYield, resumableProgress } from '../../lib/concurrency/cooperative-yield.ts';
import { isPlainObject, setField } from '../../lib/plain-object.ts';
import { SERVER_FIELDS } from '../../lib/server-fields.ts';
import { idText } from './ids.ts';
import { dateText, valueToWire } from './wire-values.ts';

export interface WireOptions {
  /** False omits `_meta`, for projections that do not include it. Default true. */
  readonly meta?: boolean;
}

/** The reserved field `_meta` as clients see it. Times are ISO 8601, `…By` are ids of principals. */
export interface WireMeta {
  readonly revision: number;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
}

/**
 * A stored document as clients see it: `id` first, its fields in stored order, `_meta` last. A document without `_id`
 * (a row of a view) has no `id`. It can yield (lib/concurrency/cooperative-yield.ts).
 */
export function toWireDocument(document: Document, options: WireOptions = {}): Record<string, unknown> {
  const done = resumableProgress(document, toWireDocument, () => begin(document));
  const { names, wire } = done;
  for (; done.at < names.length; countStepAndYield()) {
    const name = names[done.at] ?? '';
    if (!SERVER_FIELDS.has(name)) setField(wire, name, valueToWire(document[name]));
    done.at += 1;
  }
  if (options.meta !== false) wire['_meta'] = metaToWire(document['_meta']);
  return wire;
}

interface Writing {
  readonly names: readonly string[];
  readonly wire: Record<string, unknown>;
  at: number;
}

function begin(document: Document): Writing {
  const id = Object.hasOwn(document, '_id') ? { id: idText(document['_id']) } : {};
  return { names: Object.keys(document), wire: id, at: 0 };
}

/** The five fields of `_meta`. A field that another program omitted, or wrote with another type, is 0 or null. */
export function metaToWire(stored: unknown): WireMeta {
  const meta = isPlainObject(stored) ? stored : {};
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
