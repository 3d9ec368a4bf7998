/**
 * The door to whatever runs the code of functions, apart from the server. One suite of tests holds for every implementation.
 * Nothing that the code does may harm the process that calls. Values pass as JSON text. Not here: what functions there are
 * (plugins/), and what the host does for them (calling/).
 */

export const FUNCTION_KINDS = ['endpoint', 'trigger', 'cron', 'before', 'job'] as const;

export type FunctionKind = (typeof FUNCTION_KINDS)[number];

/** The scripts of one version of a plugin, as JavaScript (ECMAScript modules). */
export interface Bundle {
  /** Names exactly this content: what was compiled for it is kept under this id. */
  readonly id: string;
  /** By path inside the plugin, with `/`, as its files name each other: `lib/tax.ts`. Lines and columns are the author's. */
  readonly files: ReadonlyMap<string, string>;
}

/** Where the code of a bundle is wrong. */
export interface BundleFault {
  readonly file: string;
  /** From 1; null when the fault has no place, such as a file that is missing. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** What code may ask its host to do, in the name of one call. */
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

/** What `ctx` tells the code of its call. */
export interface CallFacts {
  /** As policies know it: kind, id, roles, claims; no session. */
  readonly principal: Readonly<Record<string, unknown>>;
  readonly run: {
    readonly id: string;
    /** The same on every attempt, for other servers to recognise a repetition. */
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
  /** The file whose default export is called. */
  readonly file: string;
  readonly kind: FunctionKind;
  /** JSON text. For `before` an array: the function is called once for each element, in order. */
  readonly input: string;
  readonly facts: CallFacts;
  readonly limits: RunLimits;
  /**
   * Does one operation of the host. Asked only while the call is live.
   * @param argument JSON text, at most 1 MB
   * @returns JSON text, at most 5 MB
   * @throws MillraceError, which the code sees as one with the same code, status, message and details
   */
  readonly host: (operation: HostOperation, argument: string) => Promise<string>;
  /** Each line that the code logs, bounded in number and length. */
  readonly onLog: (line: LogLine) => void;
}

/** Of a `before` that threw a Refusal. */
export interface CallRefusal {
  readonly kind: 'refusal';
  readonly message: string;
  readonly code: string | null;
  readonly pointer: string | null;
  /** The place of the element in the input. */
  readonly index: number;
}

/** How a call ended. Every text in it comes from the code, and is bounded. */
export type CallOutcome =
  /** JSON text of what was returned. For `before` an array with null for each element that stays as it is. */
  | { readonly kind: 'value'; readonly value: string; readonly cpuMs: number }
  /** Of an endpoint that returned undefined (204 without a body) or a Response. */
  | { readonly kind: 'response'; readonly response: FunctionResponse; readonly cpuMs: number }
  | (CallRefusal & { readonly cpuMs: number })
  | {
      readonly kind: 'fault';
      readonly code: CallFaultCode;
      readonly message: string;
      /** With the author's files and lines; null when there is none. */
      readonly stack: string | null;
      readonly cpuMs: number;
    };

export const CALL_FAULTS = [
  'function-failed',
  'function-timeout',
  'function-out-of-memory',
  'function-runtime-restarted',
] as const;

export type CallFaultCode = (typeof CALL_FAULTS)[number];

export interface FunctionResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null without a body. */
  readonly body: string | null;
  /** The body is bytes, which stand there as base64. */
  readonly base64?: true;
}

export interface Sandbox {
  /**
   * Compiles a bundle, without running any of it for a caller.
   * @param entries the files that must have a default export
   * @returns what is wrong with it, the first fault of each file; empty when it can be called
   */
  check(bundle: Bundle, entries: readonly string[]): Promise<readonly BundleFault[]>;
  /** Never rejects because of what the code does. */
  call(call: SandboxCall): Promise<CallOutcome>;
  /** Ends everything. Calls that are under way end with `function-runtime-restarted`. */
  stop(): Promise<void>;
}

/** What a sandbox reports. */
export interface SandboxEvents {
  /** A call that made it necessary to end the process that runs the code. Three in ten minutes are too many. */
  readonly onStrike: (call: SandboxCall, reason: string) => void;
  /** A signal from outside, such as the kernel's when memory ran out, ended the process that runs the code. It starts again. */
  readonly onKilled?: (signal: string) => void;
}
