/** Wires and starts the parts of plugins: the active set, administration, and views. */
import type { AuditEvents } from '../../database/audit-events.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { Transactions } from '../../database/transactions.ts';
import type { EventServices } from '../../events/open-events.ts';
import { CleanupStack } from '../../lib/closers.ts';
import type { Encryption } from '../../lib/encryption.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { PluginRegistry } from './active-plugins.ts';
import { PluginLoader } from './plugin-loader.ts';
import { type FunctionStats, PluginViews } from './plugin-views.ts';
import { Plugins } from './plugins.ts';
import { PluginSecretStore } from './store/plugin-secret-store.ts';
import { PluginStore } from './store/plugin-store.ts';
import { VersionStore } from './store/version-store.ts';
import { PluginDrafts } from './unsaved-plugins.ts';

export interface PluginServices {
  /** Administration of plugins. */
  readonly plugins: Plugins;
  /** Plugins as administrators see them. */
  readonly shown: PluginViews;
  /** Unsaved plugins, for dry runs. */
  readonly drafts: PluginDrafts;
  /** Activates changes stored before this call. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface PluginDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly activity: AuditEvents;
  readonly encryption: Encryption;
  readonly events: Pick<EventServices, 'tail'>;
  readonly folders: readonly string[];
  /** Receives the active plugins. */
  readonly registry: PluginRegistry;
  /** Checks scripts; null where functions are disabled. */
  readonly sandbox: Pick<Sandbox, 'check'> | null;
  readonly figures: FunctionStats;
  /** Called with errors of a plugin. */
  readonly onIssue: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Opens plugins; the stored ones are active when this resolves. The event log must be followed already. */
export async function openPlugins(deps: PluginDeps): Promise<PluginServices> {
  const { mongo, encryption, events, figures, onError } = deps;
  const closers = new CleanupStack();
  const stores = {
    plugins: new PluginStore(mongo),
    versions: new VersionStore(mongo),
    secrets: new PluginSecretStore(mongo, encryption),
  };
  await Promise.all([stores.plugins.start(), stores.secrets.start()]);
  const loader = closers.add(new PluginLoader({ ...deps, stores }), (it) => it.stop());
  try {
    await loader.start();
    const { reloader } = loader;
    const unfollow = events.tail.attach({
      rows: (rows) => reloader.applyLogRows(rows),
      lost: () => reloader.applyLogRows(null),
    });
    closers.add(unfollow, (it) => it());
    // The log is followed instead of polled: an idle instance sends no queries.
    await reloader.start(() => events.tail.healthy);
  } catch (error) {
    await closers.close().catch(onError);
    throw error;
  }
  const plugins = new Plugins({ ...deps, stores, loader });
  const shown = new PluginViews({ ...deps, figures, stores, loader });
  const drafts = new PluginDrafts({ ...deps, loader, shown });
  return { plugins, shown, drafts, reload: () => loader.reloader.reload(), close: () => closers.close() };
}
