/** Facts about the instance from several routes. Without permission for a route, its facts are absent. */
import type { MillraceError } from '../../../../client/client.ts';
import { useListPage, useResource } from '../../api/live.ts';
import { useRights } from '../../api/rights.ts';
import { type EffectiveSettings, useEffectiveSettings } from '../../parts/instance/effective-settings.ts';

/** The response of `GET /admin/status`. */
export interface ServerState {
  readonly events: {
    readonly recorder: { readonly status: string; readonly error: string | null; readonly holder: string | null };
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

interface EndpointView {
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  readonly health: { readonly pending: number; readonly failingSince: string | null };
}

interface PluginView {
  readonly name: string;
  readonly enabled: boolean;
  readonly diagnostics: readonly string[];
  readonly blockedCollections: readonly string[];
  readonly functions: readonly {
    readonly state: string;
    readonly runs: { readonly succeeded: number; readonly failed: number };
  }[];
}

export interface Facts {
  /** Undefined before the first response. */
  readonly ready: boolean | undefined;
  readonly state: ServerState | undefined;
  readonly stateProblem: MillraceError | null;
  readonly endpoints: readonly EndpointView[];
  readonly plugins: readonly PluginView[];
  /** Undefined where it is unknown. */
  readonly policies: number | undefined;
  readonly failedDelivery: boolean;
  readonly failedRun: boolean;
  readonly settings: EffectiveSettings | undefined;
}

/** The state of a server changes without events. In milliseconds. */
const EACH_MS = 5_000;

export function useFacts(): Facts {
  const { accounts } = useRights();
  const ready = useResource<unknown>('/readyz', [], EACH_MS);
  const state = useResource<ServerState>('/admin/status', [], EACH_MS);
  const endpoints = useResource<readonly EndpointView[]>('/webhooks/endpoints', ['system.endpoint.*'], EACH_MS);
  const plugins = useResource<readonly PluginView[]>('/admin/plugins', [
    'system.plugin.*',
    'system.function.*',
    'system.run.*',
  ]);
  const policies = useResource<{ readonly policies: readonly unknown[] }>('/admin/policies', ['system.policy.*']);
  const failedDeliveries = useListPage('/webhooks/deliveries?state=failed&limit=1', ['system.delivery.failed']);
  const failedRuns = useListPage('/admin/runs?state=failed&limit=1', ['system.run.failed']);
  const settings = useEffectiveSettings();
  return {
    ready: ready.error === null ? ready.data !== undefined || undefined : false,
    state: state.data,
    stateProblem: state.error,
    endpoints: endpoints.data ?? [],
    plugins: plugins.data ?? [],
    policies: policies.data?.policies.length,
    failedDelivery: (failedDeliveries.data?.items.length ?? 0) > 0,
    failedRun: (failedRuns.data?.items.length ?? 0) > 0,
    settings: accounts ? settings.data : undefined,
  };
}
