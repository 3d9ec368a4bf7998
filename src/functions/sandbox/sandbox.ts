/**
 * The interface of implementations that run the code of functions, isolated from the server. One test suite covers all of them.
 * The code must not be able to harm the calling process. Values are passed as JSON text.
 */

export const FUNCTION_KINDS = ['http', 'trigger', 'cron', 'beforeWrite', 'job'] as const;

export type FunctionKind = (typeof FUNCTION_KINDS)[number];

/** The scripts of one version of a plugin, as JavaScript (ECMAScript modules). */
export interface Bundle {
  /** Identifies exactly this content: the key of compilation caches. */
  readonly id: string;
  /** By path inside the plugin, with `/`, as its files name each other: `lib/tax.ts`. Lines and columns are the author's. */
  readonly files: ReadonlyMap<string, string>;
}

/** An error in the code of a bundle. */
export interface BundleError {
  readonly file: string;
  /** From 1; null if the error has no location, such as a missing file. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** Host operations that code may use, for one call. */
export const HOST_OPERATIONS = [
  'documents.list',
  'documents.get',
  'documents.count',
  'documents.create',
  'documents.replace',
  'documents.patch',
  'documents.update',
  'documents.remove',
  'batch',
  'files.get',
  'files.text',
  'files.bytes',
  'files.create',
  'files.remove',
  'fetch',
  'hmac',
  'schedule',
] as const;

export type HostOperation = (typeof HOST_OPERATIONS)[number];

export interface RunLimits {
  /** Milliseconds from the call to its result. */
  readonly wallMs: number;
  /** Milliseconds of CPU. */
  readonly cpuMs: number;
  /** Megabytes of heap, with buffers. */
  readonly heapMb: number;
}

/** The data of `ctx`. */
export interface CallContextData {
  /** As policies see it: kind, id, roles, claims; no session. */
  readonly principal: Readonly<Record<string, unknown>>;
  readonly run: {
    readonly id: string;
    /** The same on every attempt: an idempotency key for other servers. */
    readonly key: string;
    readonly attempt: number;
    /** `plugin/name`. */
    readonly function: string;
    readonly version: string;
  };
  /** The plugin's own secrets, by name. */
  readonly secrets: Readonly<Record<string, string>>;
}

export interface LogLine {
  readonly at: Date;
  readonly level: 'info' | 'warn' | 'error';
  readonly text: string;
}

export interface SandboxCall {
  readonly bundle: Bundle;
  /**
   * Calls of the same group and file share contexts, one call at a time in each, and may see the state of modules and globals that
   * an earlier one left. Null for a context of its own. A group must not span plugins, versions, secrets or grants.
   */
  readonly group: string | null;
  /** The file whose default export is called. */
  readonly file: string;
  readonly kind: FunctionKind;
  /** JSON text. For `beforeWrite` an array: the function is called once for each element, in order. */
  readonly input: string;
  readonly facts: CallContextData;
  readonly limits: RunLimits;
  /**
   * Runs one host operation. Called only while the call is running.
   * @param argument JSON text, at most 1 MB
   * @returns JSON text, at most 5 MB
   * @throws MillraceError, which the code sees as one with the same code, status, message and details
   */
  readonly host: (operation: HostOperation, argument: string) => Promise<string>;
  /** Each line that the code logs, bounded in number and length. */
  readonly onLog: (line: LogLine) => void;
}

/** Of a `beforeWrite` that threw a Refusal. */
export interface WriteHookRefusal {
  readonly kind: 'refusal';
  readonly message: string;
  readonly code: string | null;
  readonly pointer: string | null;
  /** The index of the element in the input. */
  readonly index: number;
}

/** The outcome of a call. Every text in it comes from the code, and is bounded. */
export type CallOutcome =
  /** The returned value as JSON text. For `beforeWrite` an array with null for each unchanged element. */
  | { readonly kind: 'value'; readonly value: string; readonly cpuMs: number }
  /** Of an HTTP function that returned undefined (204 without a body) or a Response. */
  | { readonly kind: 'response'; readonly response: FunctionResponse; readonly cpuMs: number }
  | (WriteHookRefusal & { readonly cpuMs: number })
  | {
      readonly kind: 'error';
      readonly code: CallErrorCode;
      readonly message: string;
      /** With the author's files and lines; null if there is none. */
      readonly stack: string | null;
      readonly cpuMs: number;
    };

export const CALL_ERROR_CODES = [
  'function-failed',
  'function-timeout',
  'function-out-of-memory',
  'function-runtime-restarted',
] as const;

export type CallErrorCode = (typeof CALL_ERROR_CODES)[number];

export interface FunctionResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. */
  readonly body: string | null;
  /** The body is bytes, encoded as base64. */
  readonly base64?: true;
}

export interface Sandbox {
  /**
   * Compiles a bundle, without running any of it.
   * @param entries the files that must have a default export
   * @returns its errors, the first one of each file; empty if it can be called
   */
  check(bundle: Bundle, entries: readonly string[]): Promise<readonly BundleError[]>;
  /** Never rejects because of the code. */
  call(call: SandboxCall): Promise<CallOutcome>;
  /** Ends everything. Running calls end with `function-runtime-restarted`. */
  stop(): Promise<void>;
}

/** Events that a sandbox reports. */
export interface SandboxEvents {
  /** A call crashed the process that runs the code, or forced its end. Three in ten minutes quarantine the function. */
  readonly onCrash: (call: SandboxCall, reason: string) => void;
  /** A signal from outside, such as the kernel's when memory ran out, ended the process that runs the code. It restarts. */
  readonly onKilled?: (signal: string) => void;
}
