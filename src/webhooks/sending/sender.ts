/**
 * The interface of senders: the direct sender, which needs only MongoDB, or a service. One test suite covers all of
 * them.
 */
import type { DisabledReason, EndpointDeliverySettings } from '../endpoint/endpoint.ts';

export const DELIVERY_STATES = ['pending', 'succeeded', 'failed', 'canceled'] as const;

/** `failed`: after the last attempt. `canceled`: its endpoint was disabled or deleted first. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const ATTEMPT_TRIGGERS = ['schedule', 'test', 'resend', 'recover', 'replay'] as const;

/** Why an attempt happens. */
export type AttemptTrigger = (typeof ATTEMPT_TRIGGERS)[number];

/**
 * A delivery to submit. Its id is `<endpoint>:<event>`: submitting the same one again changes nothing, except for a
 * replay.
 */
export interface NewDelivery {
  readonly endpoint: string;
  /** Id of the event, which is also the `webhook-id` of every attempt. */
  readonly event: string;
  readonly type: string;
  /** Log position of the event, by which deliveries of one document are ordered. */
  readonly position: { readonly epoch: number; readonly number: number };
  /** `<collection>/<document id>` of the event; null for an event without a document. */
  readonly document: string | null;
  /** The body as text. Deliveries with equal bodies share one string, which is stored once. */
  readonly body: string;
  /** `replay` makes an existing delivery due again; `test` gets one attempt, outside of breaker and schedule. */
  readonly trigger: 'schedule' | 'test' | 'replay';
}

export interface Delivery {
  readonly id: string;
  readonly endpoint: string;
  readonly event: string;
  readonly type: string;
  readonly state: DeliveryState;
  /** Number of attempts. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** The last attempt. */
  readonly last: { readonly at: Date; readonly status: number | null; readonly error: string | null } | null;
}

export interface Attempt {
  readonly at: Date;
  readonly durationMs: number;
  /** HTTP status; null without a response. */
  readonly status: number | null;
  /** Why it failed: a code such as `timeout` or `status`; null for a success. */
  readonly error: string | null;
  readonly trigger: AttemptTrigger;
  /** Secrets and the values of custom headers are redacted. */
  readonly request: { readonly headers: Readonly<Record<string, string>> };
  /** Null without a response. At most 16 KiB of the body. */
  readonly response: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | null;
}

export interface DeliveryQuery {
  readonly endpoint?: string;
  readonly state?: DeliveryState;
  /** An event type; `*` is a wildcard. */
  readonly type?: string;
  readonly event?: string;
  readonly limit: number;
  /** The cursor `next` of the previous page. */
  readonly after?: string;
  /** Endpoints whose deliveries are visible; absent for all. */
  readonly endpoints?: readonly string[];
}

export interface DeliveryPage {
  /** Newest first. */
  readonly deliveries: readonly Delivery[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

export interface EndpointHealth {
  readonly breaker: 'closed' | 'open' | 'half-open';
  readonly pending: number;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** The first failure after the last success; null if the last attempt succeeded. */
  readonly failingSince: Date | null;
  /** Why the sending service does not accept the endpoint, as a sentence; null if it does. Its deliveries wait. */
  readonly error: string | null;
}

/** The endpoints as stored in the database. */
export interface StoredEndpointReader {
  readonly ids: () => Promise<readonly string[]>;
  /** Null if it was deleted or is invalid. */
  readonly one: (id: string) => Promise<EndpointDeliverySettings | null>;
}

/** Which sender is used, and whether it works. */
export type SenderHealth =
  /** This program itself. */
  | { readonly kind: 'direct' }
  | {
      readonly kind: 'svix';
      /** Its URL. */
      readonly url: string;
      /** Whether its last call got a response; null before the first one. */
      readonly reachable: boolean | null;
      /** What is wrong, as a sentence; null if nothing is. */
      readonly error: string | null;
    };

/** Callbacks of a sender. */
export interface SenderEvents {
  /** The endpoint is to be disabled: its server says so, or it has failed for too long. */
  onDisable(endpoint: string, reason: DisabledReason): Promise<void>;
  /** Deliveries that failed after their last attempt. */
  onFailed(deliveries: readonly Delivery[]): Promise<void>;
}

export interface Sender {
  start(): Promise<void>;
  state(): SenderHealth;
  /** Ends active work; other processes, or the next start, send what was not sent. */
  stop(): Promise<void>;
  /**
   * Tells the sender of an endpoint as it is now, in every process, at the start and after each change. A changed URL closes
   * its breaker. A disabled endpoint's pending deliveries are canceled.
   */
  ensureEndpoint(target: EndpointDeliverySettings): Promise<void>;
  /** Why a header field of an endpoint cannot be sent, as a sentence without its subject; null if it can. */
  headerIssue(name: string): string | null;
  /** The endpoint is gone: its pending deliveries are canceled. */
  removeEndpoint(id: string): Promise<void>;
  /** Accepts deliveries. When it resolves they are stored, and each gets at least one attempt. */
  submit(deliveries: readonly NewDelivery[]): Promise<void>;
  /** Other processes may have created due deliveries. Cheap, may be called often. */
  wake(): void;
  deliveries(query: DeliveryQuery): Promise<DeliveryPage>;
  /** With its body, null if that is no longer stored. */
  delivery(id: string): Promise<{ readonly delivery: Delivery; readonly body: string | null } | null>;
  /** The attempts of a delivery, oldest first. */
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Makes one delivery due now, with all its attempts available. @returns null if none has this id */
  resend(id: string): Promise<Delivery | null>;
  /**
   * Makes the endpoint's failed and canceled deliveries due that were created since then.
   * @param but types of events whose deliveries stay as they are
   * @returns how many
   */
  recover(endpoint: string, since: Date, but?: readonly string[]): Promise<number>;
  /** By endpoint. */
  health(endpoints: readonly string[]): Promise<ReadonlyMap<string, EndpointHealth>>;
}
