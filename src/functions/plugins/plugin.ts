/** An active plugin and its functions, as all kinds of functions use them. Frozen: a change creates new objects. */
import type { Bundle, FunctionKind } from '../sandbox/sandbox.ts';
import type { PluginIsolation, WriteHookAction } from './manifest/manifest.ts';

/** The options of a function, by its kind. */
interface FunctionUses {
  readonly http: {
    readonly kind: 'http';
    readonly methods: readonly string[];
    readonly path: string;
    /** `own`: the code receives the header, and callers are anonymous. */
    readonly authorization?: 'millrace' | 'own';
    /** How numbers that JavaScript cannot represent exactly are passed; rejected by default. */
    readonly largeNumbers?: 'reject' | 'string';
  };
  readonly trigger: {
    readonly kind: 'trigger';
    /** Event types; `*` is a wildcard. */
    readonly on: readonly string[];
    /** As in `_changes`, parsed here; null for all. */
    readonly filter: Readonly<Record<string, unknown>> | null;
  };
  readonly cron: { readonly kind: 'cron'; readonly schedule: string; readonly timeZone: string };
  readonly beforeWrite: {
    readonly kind: 'beforeWrite';
    readonly collections: readonly string[];
    readonly actions: readonly WriteHookAction[];
  };
  readonly job: { readonly kind: 'job' };
}

export type FunctionOptions = FunctionUses[FunctionKind];

export interface PluginFunction<K extends FunctionKind = FunctionKind> {
  /** `plugin/name`: the id of its principal, and its name in events and runs. */
  readonly id: string;
  readonly name: string;
  readonly plugin: Plugin;
  readonly file: string;
  readonly options: FunctionUses[K];
  /** Its principal: the caller, or the function itself. */
  readonly as: 'caller' | 'function';
  /** Roles of the function itself, for `as: function`. */
  readonly roles: readonly string[];
  readonly timeoutMs: number;
  /** Quarantined because it crashed the runner too often: it does not run until an administrator releases it. */
  readonly isQuarantined: boolean;
}

export interface Plugin {
  readonly name: string;
  readonly from: 'folder' | 'database';
  /** `7` in the database, a hash prefix of its files in a folder. */
  readonly version: string;
  readonly enabled: boolean;
  /**
   * Whether it is the stand-in for an invalid plugin: its functions have no code, and reject every write that they would check.
   */
  readonly isPlaceholder: boolean;
  readonly bundle: Bundle;
  /** Hosts that its functions may fetch from, as the manifest names them: `api.example.com`, `*.example.org:8443`. */
  readonly fetchHosts: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
  readonly isolation: PluginIsolation;
  /**
   * Whether its functions may receive events of users, keys and settings (the resource `admin:accounts`): if the administrator
   * who stored this version may read them. Always for a plugin in a folder.
   */
  readonly readsUsers: boolean;
  readonly functions: readonly PluginFunction[];
}

/** The active plugins of this process. */
export interface ActivePlugins {
  /** Functions of a kind, of enabled plugins, including quarantined ones. The same array until something changes. */
  ofKind<K extends FunctionKind>(kind: K): readonly PluginFunction<K>[];
  /** @param id `plugin/name` */
  find(id: string): PluginFunction | undefined;
  /**
   * Calls back after every change.
   * @returns a function that stops it
   */
  onChange(listener: () => void): () => void;
}
