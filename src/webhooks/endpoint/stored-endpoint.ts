/**
 * An endpoint as a document of `_endpoints`, which the log of events carries too: its form, and what the planner reads of it.
 * Pure. Not here: its secrets, which stand elsewhere (endpoint-store.ts).
 */
import type { OwnMeta } from '../../database/system-collection.ts';
import type { SystemCollection } from '../../kernel/event-types.ts';
import { isPlain } from '../../kernel/objects.ts';
import { type DisabledReason, type EndpointInterest, type Maker, ORDERINGS, type Via } from './endpoint.ts';
import type { WrittenEndpoint } from './endpoint-rules.ts';

/** The collection of endpoints in `<db>`. */
export const ENDPOINTS_COLLECTION: SystemCollection = '_endpoints';

export interface StoredEndpoint extends WrittenEndpoint {
  readonly _id: string;
  /** Names of the headers of its own, in lower case. */
  readonly headers: readonly string[];
  /** Null while it is enabled. */
  readonly disabledReason: DisabledReason | null;
  readonly principal: Maker;
  /** Where an automation service made it; absent otherwise. */
  readonly via?: Via;
  readonly _meta?: OwnMeta;
}

const MAKERS = ['owner', 'user', 'key', 'anonymous'] as const;

/**
 * What decides which events an endpoint gets, read from its document, as it is in the database or in the log.
 * @returns null when another program wrote it in a form that says nothing; filter and types are not checked further
 */
export function interestOf(document: Readonly<Record<string, unknown>>): EndpointInterest | null {
  const { _id: id, types, filter = null, principal, ordering, enabled } = document;
  const maker = isPlain(principal) ? makerOf(principal) : null;
  if (typeof id !== 'string' || maker === null || !Array.isArray(types) || !types.every(isText)) return null;
  if (filter !== null && !isPlain(filter)) return null;
  const order = ORDERINGS.find((one) => one === ordering) ?? 'none';
  return { id, types, filter, principal: maker, ordering: order, enabled: enabled === true };
}

function makerOf({ kind, id }: Record<string, unknown>): Maker | null {
  const known = MAKERS.find((one) => one === kind);
  return known === undefined || typeof id !== 'string' ? null : { kind: known, id };
}

const isText = (value: unknown): value is string => typeof value === 'string';
