/**
 * A plugin as it is in force, and its functions: what every kind of function is run from. Frozen values: a change makes new
 * ones. Not here: what an owner writes (manifest.ts) and where plugins come from.
 */
import type { Bundle, FunctionKind } from '../sandbox/sandbox.ts';
import type { BeforeAction } from './manifest/manifest.ts';

/** What can be done with a function, by its kind. */
interface FunctionUses {
  readonly endpoint: {
    readonly kind: 'endpoint';
    readonly methods: readonly string[];
    readonly path: string;
    /** `own`: the header is for the code, and callers are anonymous. */
    readonly authorization?: 'millrace' | 'own';
    /** What becomes of numbers in a body that JavaScript cannot hold exactly; refused unless it says otherwise. */
    readonly largeNumbers?: 'refuse' | 'text';
  };
  readonly trigger: {
    readonly kind: 'trigger';
    /** Event types, in which `*` stands for anything. */
    readonly on: readonly string[];
    /** As in `_changes`, parsed from here on; null for all. */
    readonly filter: Readonly<Record<string, unknown>> | null;
  };
  readonly cron: { readonly kind: 'cron'; readonly schedule: string; readonly timeZone: string };
  readonly before: {
    readonly kind: 'before';
    readonly collections: readonly string[];
    readonly actions: readonly BeforeAction[];
  };
  readonly job: { readonly kind: 'job' };
}

export type FunctionUse = FunctionUses[FunctionKind];

export interface PluginFunction<K extends FunctionKind = FunctionKind> {
  /** `plugin/name`: the id of its principal, and its name in events and runs. */
  readonly id: string;
  readonly name: string;
  readonly plugin: Plugin;
  readonly file: string;
  readonly use: FunctionUses[K];
  /** As whom it acts: as the principal that called, or as itself. */
  readonly as: 'caller' | 'function';
  /** Roles of the function itself, for `as: function`. */
  readonly roles: readonly string[];
  readonly timeoutMs: number;
  /** Not run until an owner releases it, because it ended the runner too often. */
  readonly isQuarantined: boolean;
}

export interface Plugin {
  readonly name: string;
  readonly from: 'folder' | 'database';
  /** `7` in the database, a part of a hash of its files in a folder. */
  readonly version: string;
  readonly enabled: boolean;
  /** Whether it stands for a plugin with faults: its functions have no code, and refuse every write that they would see. */
  readonly isStandIn: boolean;
  readonly bundle: Bundle;
  /** Hosts that its functions may fetch from, as the manifest names them: `api.example.com`, `*.example.org:8443`. */
  readonly fetchHosts: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  /**
   * Whether its functions may be told of accounts, keys and settings (the place `admin:accounts`): as far as the owner who
   * stored this version may read them. Always for a plugin of a folder.
   */
  readonly readsAccounts: boolean;
  readonly functions: readonly PluginFunction[];
}

/** The plugins in force in this process. */
export interface ActivePlugins {
  /** Functions of a kind, of enabled plugins, quarantined ones too. The same array until something changes. */
  ofKind<K extends FunctionKind>(kind: K): readonly PluginFunction<K>[];
  /** @param id `plugin/name` */
  find(id: string): PluginFunction | undefined;
  /** Calls back after every change. @returns ends that */
  onChange(listener: () => void): () => void;
}
