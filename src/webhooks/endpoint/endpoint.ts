/** Types of a webhook endpoint: where events are sent, which ones, and with whose rights. */
import type { RequestPrincipal } from '../../auth/identity/principal.ts';

/** Maximum number of endpoints of one instance. */
export const MAX_ENDPOINTS = 500;

/** The reasons why an endpoint is disabled. */
export const DISABLED_REASONS = ['manual', 'gone', 'failing', 'principal'] as const;

/**
 * `manual`: by a request. `gone`: its server responded with 410. `failing`: no delivery succeeded for 120 hours.
 * `principal`: the user or key that created it no longer exists.
 */
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** When failed deliveries are retried (sending/retry-schedule.ts). */
export const RETRY_SCHEDULES = ['standard', 'long', 'none'] as const;

export type RetryScheduleName = (typeof RETRY_SCHEDULES)[number];

/** `document`: a delivery waits until the earlier one of the same document is delivered or failed. */
export const DELIVERY_ORDERINGS = ['none', 'document'] as const;

export type DeliveryOrdering = (typeof DELIVERY_ORDERINGS)[number];

/** The route that creates endpoints for automation services, `POST /hooks`. Its endpoints are marked with it. */
export const REST_HOOKS_ROUTE = 'hooks';

export type EndpointCreationRoute = typeof REST_HOOKS_ROUTE;

/** The principal that created an endpoint. The endpoint receives what this principal may read. */
export interface Creator {
  /** Anonymous clients can create endpoints in development mode only. */
  readonly kind: RequestPrincipal['kind'];
  /** Id of the user or key; empty for anonymous. */
  readonly id: string;
}

/** Decides which events an endpoint receives. */
export interface EndpointSubscription {
  readonly id: string;
  /** Event types; `*` is a wildcard. */
  readonly types: readonly string[];
  /** A filter in the query language, as in the request; null for none. */
  readonly filter: Readonly<Record<string, unknown>> | null;
  readonly principal: Creator;
  readonly ordering: DeliveryOrdering;
  readonly enabled: boolean;
}

/** Decides how an endpoint is called. */
export interface EndpointDeliverySettings {
  readonly id: string;
  readonly url: string;
  /** The signing secrets (`whsec_…`), newest first. One with an end signs until then. */
  readonly secrets: readonly SigningSecret[];
  /** Custom header fields by lower-case name, with plaintext values. */
  readonly headers: Readonly<Record<string, string>>;
  /** Requests per second, all processes together; null for no limit. */
  readonly ratePerSecond: number | null;
  readonly ordering: DeliveryOrdering;
  readonly retrySchedule: RetryScheduleName;
  readonly enabled: boolean;
}

export interface SigningSecret {
  readonly secret: string;
  /** When it stops signing, in milliseconds since 1970; null for the newest one. */
  readonly until: number | null;
}
