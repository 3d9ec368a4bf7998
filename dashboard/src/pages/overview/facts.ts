/** What the page knows of the installation, from the routes that tell it. Whoever may not ask one gets nothing from it. */
import type { Problem } from '../../../../client/client.ts';
import { useListPage, useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { type EffectiveSettings, useEffectiveSettings } from '../../parts/installation/effective-settings.ts';

/** The answer of `GET /admin/state`. */
export interface ServerState {
  readonly events: {
    readonly recorder: { readonly status: string; readonly fault: string | null; readonly holder: string | null };
    readonly log: { readonly rows: number; readonly bytes: number };
    readonly tail: { readonly behind: number; readonly following: boolean };
    readonly consumers: readonly { readonly name: string; readonly behind: number }[];
    readonly oplogSeconds: number | null;
  };
  readonly functions: { readonly droppedRuns: number };
  readonly realtime: { readonly connections: number };
  /** The disk of the embedded database; null with another one. */
  readonly disk: { readonly level: 'enough' | 'low' | 'full'; readonly freeBytes: number | null } | null;
}

interface ShownEndpoint {
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  readonly health: { readonly pending: number; readonly failingSince: string | null };
}

interface ShownPlugin {
  readonly name: string;
  readonly enabled: boolean;
  readonly faults: readonly string[];
  readonly blockedCollections: readonly string[];
  readonly functions: readonly {
    readonly state: string;
    readonly runs: { readonly ok: number; readonly failed: number };
  }[];
}

export interface Facts {
  /** Undefined before the first answer. */
  readonly ready: boolean | undefined;
  readonly state: ServerState | undefined;
  readonly stateProblem: Problem | null;
  readonly endpoints: readonly ShownEndpoint[];
  readonly plugins: readonly ShownPlugin[];
  /** Undefined where it is not known. */
  readonly policies: number | undefined;
  readonly deadDelivery: boolean;
  readonly parkedRun: boolean;
  readonly settings: EffectiveSettings | undefined;
}

/** The state of a server changes without events. In milliseconds. */
const EACH_MS = 5_000;

export function useFacts(): Facts {
  const { accounts } = useRights();
  const ready = useResource<unknown>('/readyz', [], EACH_MS);
  const state = useResource<ServerState>('/admin/state', [], EACH_MS);
  const endpoints = useResource<readonly ShownEndpoint[]>('/webhooks/endpoints', ['system.endpoint.*'], EACH_MS);
  const plugins = useResource<readonly ShownPlugin[]>('/admin/plugins', ['system.plugin.*', 'system.function.*']);
  const policies = useResource<{ readonly policies: readonly unknown[] }>('/admin/policies', ['system.policy.*']);
  const dead = useListPage('/webhooks/deliveries?state=dead&limit=1', ['system.delivery.dead']);
  const parked = useListPage('/admin/runs?state=parked&limit=1', ['system.function.parked']);
  const settings = useEffectiveSettings();
  return {
    ready: ready.error === null ? ready.data !== undefined || undefined : false,
    state: state.data,
    stateProblem: state.error,
    endpoints: endpoints.data ?? [],
    plugins: plugins.data ?? [],
    policies: policies.data?.policies.length,
    deadDelivery: (dead.data?.items.length ?? 0) > 0,
    parkedRun: (parked.data?.items.length ?? 0) > 0,
    settings: accounts ? settings.data : undefined,
  };
}
