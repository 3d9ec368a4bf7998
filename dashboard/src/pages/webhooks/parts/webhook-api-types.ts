/** Responses of the webhook routes, as far as the page shows them (docs/webhooks.md). */

export interface Endpoint {
  readonly id: string;
  readonly name: string | null;
  readonly url: string;
  readonly types: readonly string[];
  readonly filter: Readonly<Record<string, unknown>> | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly ratePerSecond: number | null;
  readonly ordering: 'none' | 'document';
  readonly retrySchedule: 'standard' | 'long' | 'none';
  readonly enabled: boolean;
  readonly disabledReason: 'manual' | 'gone' | 'failing' | 'principal' | null;
  /** `hooks` if an automation service created it. */
  readonly via: 'hooks' | null;
  readonly principal: { readonly kind: string; readonly id: string };
  readonly createdAt: string | null;
  readonly health: {
    readonly breaker: 'closed' | 'open' | 'half-open';
    readonly pending: number;
    readonly lastSuccessAt: string | null;
    readonly lastFailureAt: string | null;
    readonly failingSince: string | null;
    /** Why the sending service rejects it. */
    readonly error: string | null;
  };
}

export const DELIVERY_STATES = ['pending', 'succeeded', 'failed', 'canceled'] as const;

export interface Delivery {
  readonly id: string;
  readonly endpoint: string;
  readonly event: string;
  readonly type: string;
  readonly state: (typeof DELIVERY_STATES)[number];
  readonly attempts: number;
  readonly nextAttemptAt: string | null;
  readonly createdAt: string;
  readonly finishedAt: string | null;
  readonly last: { readonly at: string; readonly status: number | null; readonly error: string | null } | null;
}

export interface Attempt {
  readonly at: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly trigger: string;
  readonly request: { readonly headers: Readonly<Record<string, string>> };
  readonly response: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | null;
}

export interface Replay {
  readonly id: string;
  readonly endpoint: string;
  readonly state: 'running' | 'succeeded' | 'canceled';
  readonly sent: number;
  readonly position: string;
}

/** The display name of an endpoint. */
export function nameOf({ name, url }: Pick<Endpoint, 'name' | 'url'>): string {
  return name ?? url;
}
