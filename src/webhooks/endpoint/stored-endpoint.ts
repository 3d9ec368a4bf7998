/** An endpoint as a document of `_endpoints` and in the event log, and what the planner reads of it. */
import type { OwnMeta } from '../../database/system-collection.ts';
import type { SystemCollection } from '../../lib/event-types.ts';
import { isPlain } from '../../lib/plain-object.ts';
import { type Creator, type DisabledReason, type EndpointInterest, ORDERINGS, type Via } from './endpoint.ts';
import type { EndpointRow } from './endpoint-rules.ts';

/** The collection of endpoints in `<db>`. */
export const ENDPOINTS_COLLECTION: SystemCollection = '_endpoints';

export interface StoredEndpoint extends EndpointRow {
  readonly _id: string;
  /** Names of its custom headers, in lower case. */
  readonly headers: readonly string[];
  /** Null while it is enabled. */
  readonly disabledReason: DisabledReason | null;
  readonly principal: Creator;
  /** Set if an automation service created it. */
  readonly via?: Via;
  readonly _meta?: OwnMeta;
}

const CREATORS = ['admin', 'user', 'key', 'anonymous'] as const;

/**
 * Reads from a stored document, of the database or of the log, which events an endpoint receives.
 * @returns null if another program wrote the document in an unusable form; filter and types are not checked further
 */
export function interestOf(document: Readonly<Record<string, unknown>>): EndpointInterest | null {
  const { _id: id, types, filter = null, principal, ordering, enabled } = document;
  const creator = isPlain(principal) ? creatorOf(principal) : null;
  if (typeof id !== 'string' || creator === null || !Array.isArray(types) || !types.every(isText)) return null;
  if (filter !== null && !isPlain(filter)) return null;
  const order = ORDERINGS.find((one) => one === ordering) ?? 'none';
  return { id, types, filter, principal: creator, ordering: order, enabled: enabled === true };
}

function creatorOf({ kind, id }: Record<string, unknown>): Creator | null {
  const known = CREATORS.find((one) => one === kind);
  return known === undefined || typeof id !== 'string' ? null : { kind: known, id };
}

const isText = (value: unknown): value is string => typeof value === 'string';
