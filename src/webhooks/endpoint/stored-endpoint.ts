/** An endpoint as a document of `_endpoints` and in the event log, and what the planner reads of it. */
import type { SystemDocumentMeta } from '../../database/system-collection.ts';
import type { SystemCollection } from '../../lib/event-types.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import {
  type Creator,
  DELIVERY_ORDERINGS,
  type DisabledReason,
  type EndpointCreationRoute,
  type EndpointSubscription,
} from './endpoint.ts';
import type { EndpointSettings } from './endpoint-rules.ts';

/** The collection of endpoints in `<db>`. */
export const ENDPOINTS_COLLECTION: SystemCollection = '_endpoints';

export interface StoredEndpoint extends EndpointSettings {
  readonly _id: string;
  /** Names of its custom headers, in lower case. */
  readonly headers: readonly string[];
  /** Null while it is enabled. */
  readonly disabledReason: DisabledReason | null;
  readonly principal: Creator;
  /** Set if an automation service created it. */
  readonly via?: EndpointCreationRoute;
  readonly _meta?: SystemDocumentMeta;
}

const CREATORS = ['admin', 'user', 'key', 'anonymous'] as const;

/**
 * Reads from a stored document, of the database or of the log, which events an endpoint receives.
 * @returns null if another program wrote the document in an unusable form; filter and types are not checked further
 */
export function toEndpointSubscription(document: Readonly<Record<string, unknown>>): EndpointSubscription | null {
  const { _id: id, types, filter = null, principal, ordering, enabled } = document;
  const creator = isPlainObject(principal) ? creatorOf(principal) : null;
  if (typeof id !== 'string' || creator === null || !Array.isArray(types) || !types.every(isText)) return null;
  if (filter !== null && !isPlainObject(filter)) return null;
  const order = DELIVERY_ORDERINGS.find((one) => one === ordering) ?? 'none';
  return { id, types, filter, principal: creator, ordering: order, enabled: enabled === true };
}

function creatorOf({ kind, id }: Record<string, unknown>): Creator | null {
  const known = CREATORS.find((one) => one === kind);
  return known === undefined || typeof id !== 'string' ? null : { kind: known, id };
}

const isText = (value: unknown): value is string => typeof value === 'string';
