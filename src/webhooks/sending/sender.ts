/**
 * The door to whatever sends deliveries: the direct sender, which needs nothing but MongoDB, or a service. One suite of tests
 * holds for all of them. Not here: which events an endpoint gets and what it may see of them (planning/).
 */
import type { DisabledReason, EndpointTarget } from '../endpoint/endpoint.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'discarded'] as const;

/** `dead`: all tries failed. `discarded`: its endpoint was disabled or deleted before it was delivered. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const TRIGGERS = ['schedule', 'test', 'resend', 'recover', 'replay'] as const;

/** Why a delivery is tried. */
export type Trigger = (typeof TRIGGERS)[number];

/** A delivery to make. Its id is `<endpoint>:<event>`: submitting the same one again changes nothing, except for a replay. */
export interface NewDelivery {
  readonly endpoint: string;
  /** Id of the event, which is also the `webhook-id` of every try. */
  readonly event: string;
  readonly type: string;
  /** Place of the event in the log: deliveries of one document are made in this order. */
  readonly position: { readonly epoch: number; readonly number: number };
  /** `<collection>/<document id>` of the event; null for an event without a document. */
  readonly document: string | null;
  /** The bytes to send, as text. Deliveries with the same bytes hold the same string, and it is stored once. */
  readonly body: string;
  /** `replay` makes a delivery due again that was made before; `test` is tried once, outside of breaker and schedule. */
  readonly trigger: 'schedule' | 'test' | 'replay';
}

export interface Delivery {
  readonly id: string;
  readonly endpoint: string;
  readonly event: string;
  readonly type: string;
  readonly state: DeliveryState;
  /** How often it was tried. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  /** The last try. */
  readonly last: { readonly at: Date; readonly status: number | null; readonly error: string | null } | null;
}

export interface Attempt {
  readonly at: Date;
  readonly durationMs: number;
  /** HTTP status; null when there was no answer. */
  readonly status: number | null;
  /** Why it failed: a code such as `timeout` or `status`; null when it succeeded. */
  readonly error: string | null;
  readonly trigger: Trigger;
  /** Secrets and the values of the endpoint's own headers are blanked. */
  readonly request: { readonly headers: Readonly<Record<string, string>> };
  /** Null when there was no answer. At most 16 KiB of the body. */
  readonly response: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | null;
}

export interface DeliveryQuery {
  readonly endpoint?: string;
  readonly state?: DeliveryState;
  /** An event type, in which `*` stands for anything. */
  readonly type?: string;
  readonly event?: string;
  readonly limit: number;
  /** Where the last page ended: opaque, from `next`. */
  readonly after?: string;
  /** Endpoints whose deliveries may be seen; absent for all. */
  readonly endpoints?: readonly string[];
}

export interface DeliveryPage {
  /** The newest first. */
  readonly deliveries: readonly Delivery[];
  /** Where the next page begins; null at the end. */
  readonly next: string | null;
}

export interface Health {
  readonly breaker: 'closed' | 'open' | 'half-open';
  readonly pending: number;
  readonly lastSuccessAt: Date | null;
  readonly lastFailureAt: Date | null;
  /** The first failure after the last success; null when the last try succeeded. */
  readonly failingSince: Date | null;
  /** Why the service that sends does not take the endpoint, as a sentence; null when it does. Its deliveries wait. */
  readonly fault: string | null;
}

/** The endpoints as they are in the database. */
export interface StoredTargets {
  readonly ids: () => Promise<readonly string[]>;
  /** Null when it is gone or cannot be used. */
  readonly one: (id: string) => Promise<EndpointTarget | null>;
}

/** Who sends, and whether that works. */
export type SenderState =
  /** This program itself. */
  | { readonly kind: 'direct' }
  | {
      readonly kind: 'svix';
      /** Its address. */
      readonly url: string;
      /** Whether the last call of it was answered; null before the first one. */
      readonly answers: boolean | null;
      /** What is wrong, as a sentence; null when nothing is. */
      readonly fault: string | null;
    };

/** What a sender reports. */
export interface SenderEvents {
  /** The endpoint shall be disabled: its server says so, or it has failed for too long. */
  onDisable(endpoint: string, reason: DisabledReason): Promise<void>;
  /** Deliveries whose tries are used up. */
  onDead(deliveries: readonly Delivery[]): Promise<void>;
}

export interface Sender {
  start(): Promise<void>;
  state(): SenderState;
  /** Ends what is under way; what was not sent is sent by other processes, or after the next start. */
  stop(): Promise<void>;
  /**
   * Tells the sender of an endpoint as it is now, in every process, at the start and after each change. A changed URL closes
   * its breaker. A disabled endpoint's pending deliveries are discarded.
   */
  ensureEndpoint(target: EndpointTarget): Promise<void>;
  /** Why a header field of an endpoint cannot be sent, as a sentence without its subject; null when it can. */
  headerFault(name: string): string | null;
  /** The endpoint is gone: its pending deliveries are discarded. */
  removeEndpoint(id: string): Promise<void>;
  /** Takes deliveries. When it resolves they are safe, and each will be made at least once. */
  submit(deliveries: readonly NewDelivery[]): Promise<void>;
  /** Other processes may have made deliveries that are due. Cheap, may be called often. */
  wake(): void;
  deliveries(query: DeliveryQuery): Promise<DeliveryPage>;
  /** With the body as it is sent, null when that is no longer stored. */
  delivery(id: string): Promise<{ readonly delivery: Delivery; readonly body: string | null } | null>;
  /** The tries of a delivery, oldest first. */
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Makes one delivery due now, with all its tries before it. @returns null when there is none of this id */
  resend(id: string): Promise<Delivery | null>;
  /**
   * Makes the endpoint's dead and discarded deliveries due that were made since then.
   * @param but types of events whose deliveries stay as they are
   * @returns how many
   */
  recover(endpoint: string, since: Date, but?: readonly string[]): Promise<number>;
  /** By endpoint. */
  health(endpoints: readonly string[]): Promise<ReadonlyMap<string, Health>>;
}
