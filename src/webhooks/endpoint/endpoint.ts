/**
 * A webhook endpoint: where events are sent, which ones, and in whose right. What all parts of webhooks share; types and
 * words only. Not here: how it is written and stored (endpoint-schema.ts, endpoint-store.ts).
 */
import type { ClientPrincipal } from '../../auth/identity/principal.ts';

/** Endpoints of one installation. */
export const MAX_ENDPOINTS = 500;

/** The reasons for which an endpoint is disabled. */
export const DISABLED_REASONS = ['owner', 'gone', 'failing', 'principal'] as const;

/**
 * `owner`: by a request. `gone`: its server answered 410. `failing`: no delivery succeeded for 120 hours. `principal`: the
 * account or key that made it has ended.
 */
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** When failed deliveries are tried again (sending/schedule.ts). */
export const SCHEDULES = ['standard', 'long', 'none'] as const;

export type ScheduleName = (typeof SCHEDULES)[number];

/** `document`: a delivery waits until the earlier one of the same document is delivered or dead. */
export const ORDERINGS = ['none', 'document'] as const;

export type Ordering = (typeof ORDERINGS)[number];

/** The route that makes endpoints for automation services, `POST /hooks`. Its endpoints are marked with it. */
export const HOOKS = 'hooks';

export type Via = typeof HOOKS;

/** The principal that made an endpoint. The endpoint sees what this principal may read. */
export interface Maker {
  /** Anonymous clients can make endpoints in development mode only. */
  readonly kind: ClientPrincipal['kind'];
  /** Id of the account or key; empty for anonymous. */
  readonly id: string;
}

/** What decides which events an endpoint gets. */
export interface EndpointInterest {
  readonly id: string;
  /** Event types, in which `*` stands for anything. */
  readonly types: readonly string[];
  /** A filter in the query language, as it was sent; null for none. */
  readonly filter: Readonly<Record<string, unknown>> | null;
  readonly principal: Maker;
  readonly ordering: Ordering;
  readonly enabled: boolean;
}

/** What decides how an endpoint is called. */
export interface EndpointTarget {
  readonly id: string;
  readonly url: string;
  /** The secrets that sign, the newest first; each `whsec_…`. One that has an end signs until then. */
  readonly secrets: readonly LiveSecret[];
  /** Header fields of the endpoint's own, by lower-case name, with their values in clear. */
  readonly headers: Readonly<Record<string, string>>;
  /** Calls a second, all processes together; null for no limit. */
  readonly ratePerSecond: number | null;
  readonly ordering: Ordering;
  readonly schedule: ScheduleName;
  readonly enabled: boolean;
}

export interface LiveSecret {
  readonly secret: string;
  /** When it ceases to sign, in milliseconds since 1970; null for the newest one. */
  readonly until: number | null;
}
