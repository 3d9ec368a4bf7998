/**
 * Creates, connects and starts the parts of plugins: what is in force, what owners do with it, and what they are shown. No
 * behaviour of its own. Not here: the sandbox and what calls functions (open-functions.ts).
 */
import type { Activity } from '../../database/activity.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { Transactions } from '../../database/transactions.ts';
import type { EventParts } from '../../events/open-events.ts';
import { Closers } from '../../kernel/closers.ts';
import type { Sealer } from '../../kernel/sealer.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { Drafts } from './drafts.ts';
import type { PluginBook } from './plugin-book.ts';
import { PluginLoader } from './plugin-loader.ts';
import { Plugins } from './plugins.ts';
import { type FunctionFigures, ShownPlugins } from './shown-plugins.ts';
import { PluginSecretStore } from './store/plugin-secret-store.ts';
import { PluginStore } from './store/plugin-store.ts';
import { VersionStore } from './store/version-store.ts';

export interface PluginParts {
  /** What owners do with plugins. */
  readonly plugins: Plugins;
  /** What owners are shown of them. */
  readonly shown: ShownPlugins;
  /** What is only tried. */
  readonly drafts: Drafts;
  /** Puts in force what was stored before this call. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

export interface PluginNeeds {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly activity: Activity;
  readonly sealer: Sealer;
  readonly events: Pick<EventParts, 'tail'>;
  readonly folders: readonly string[];
  /** What is put in force goes here. */
  readonly book: PluginBook;
  /** Checks scripts; null where no function is run. */
  readonly sandbox: Pick<Sandbox, 'check'> | null;
  readonly figures: FunctionFigures;
  /** Told what is wrong with a plugin. */
  readonly onFault: (text: string) => void;
  readonly onError: (error: unknown) => void;
}

/** Opens plugins; those that there are are in force when this resolves. The event log must be followed already. */
export async function openPlugins(needs: PluginNeeds): Promise<PluginParts> {
  const { mongo, sealer, events, figures, onError } = needs;
  const closers = new Closers();
  const stores = {
    plugins: new PluginStore(mongo),
    versions: new VersionStore(mongo),
    secrets: new PluginSecretStore(mongo, sealer),
  };
  await Promise.all([stores.plugins.start(), stores.secrets.start()]);
  const loader = closers.add(new PluginLoader({ ...needs, stores }), (it) => it.stop());
  try {
    await loader.start();
    const { reloader } = loader;
    const unfollow = events.tail.attach({ rows: (rows) => reloader.follow(rows), lost: () => reloader.follow(null) });
    closers.add(unfollow, (it) => it());
    // While the log is followed nothing is looked for: an idle installation asks the database nothing.
    await reloader.start(() => events.tail.healthy);
  } catch (error) {
    await closers.close().catch(onError);
    throw error;
  }
  const plugins = new Plugins({ ...needs, stores, loader });
  const shown = new ShownPlugins({ ...needs, figures, stores, loader });
  const drafts = new Drafts({ ...needs, loader, shown });
  return { plugins, shown, drafts, reload: () => loader.reloader.reload(), close: () => closers.close() };
}
