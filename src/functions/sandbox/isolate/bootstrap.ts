/**
 * The program around an author's code inside an isolate: installs globals, removes dangerous ones, calls the default export and
 * reports the outcome to the runner. Sent to the isolate as text together with the others of this folder.
 */
import type { CallContextData, FunctionKind } from '../sandbox.ts';
import type { WireOutcome } from '../wire/messages.ts';
import type { makeBodyUtils } from './bodies.ts';
import type { makeFunctionContext } from './context.ts';
import type { makeCryptoUtils } from './digests.ts';
import type { makeEncodingUtils } from './encodings.ts';
import type { makeOutcomeUtils } from './errors-and-response.ts';
import type { CallBridge, HostBridgeLimits, makeHostBridge, PostToRunner } from './host-bridge.ts';
import type { makeStructuredClone } from './structured-clone.ts';
import type { makeUrlClasses, UrlField, UrlParts } from './urls.ts';
import type { makeWebhookVerifier } from './webhooks.ts';

/** The functions of this folder, evaluated in the isolate. */
export interface ProgramDeps {
  readonly makeUrlClasses: typeof makeUrlClasses;
  readonly makeHostBridge: typeof makeHostBridge;
  readonly makeBodyUtils: typeof makeBodyUtils;
  readonly makeStructuredClone: typeof makeStructuredClone;
  readonly makeFunctionContext: typeof makeFunctionContext;
  readonly makeCryptoUtils: typeof makeCryptoUtils;
  readonly makeEncodingUtils: typeof makeEncodingUtils;
  readonly makeOutcomeUtils: typeof makeOutcomeUtils;
  readonly makeWebhookVerifier: typeof makeWebhookVerifier;
}

export interface ProgramLimits extends HostBridgeLimits {
  readonly resultBytes: number;
}

/** Data of the runner for a new call. */
export interface CallStartData {
  readonly kind: FunctionKind;
  readonly facts: CallContextData;
}

/** The outcome of a call, as its isolate reports it. The value or the body is separate. */
export type IsolateOutcome =
  | Exclude<WireOutcome, { readonly kind: 'error' }>
  | { readonly kind: 'error'; readonly message: string; readonly stack: string | null };

/** The functions that the runner calls in the isolate: with strings, numbers, and the namespace of the author's module. */
export interface IsolateProgram {
  /**
   * Removes dangerous globals: in each context, because V8 adds its own to every context, whatever the snapshot has. Begins the
   * first call, to which the evaluation of the author's module belongs.
   * @param seed 32 random bytes as base64
   */
  readonly lock: (seed: string) => void;
  /** @param namespace of the author's module; only for the first call of a context */
  readonly start: (call: number, job: string, input: string, namespace?: AuthorModule) => void;
  readonly hostResult: (call: number, number: number, ok: boolean, text: string) => void;
  readonly woken: (call: number) => void;
}

interface AuthorModule {
  readonly default?: unknown;
}

/** Runs when the snapshot of new contexts is created. Its result is locked in each context, before any author code. */
export function makeIsolateProgram(
  scope: Record<string, unknown>,
  deps: ProgramDeps,
  post: PostToRunner,
  /** Returns the parts of a URL as JSON, or an empty text. */
  address: (text: string, base: string, field: string, value: string) => string,
  limits: ProgramLimits,
): IsolateProgram {
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { freeze, defineProperty, getOwnPropertyNames, getOwnPropertyDescriptor } = Object;
  const { deleteProperty } = Reflect;

  const encodings = deps.makeEncodingUtils();
  const bodies = deps.makeBodyUtils(encodings);
  const values = deps.makeOutcomeUtils(bodies);
  const digests = deps.makeCryptoUtils(encodings);
  const bridge = deps.makeHostBridge(post, values, limits);
  const webhooks = deps.makeWebhookVerifier(encodings, digests, values);
  const contextOf = deps.makeFunctionContext({ encodings, bodies, values, webhooks }, limits.argumentBytes);
  const request = (text: string, base: string | null, field: UrlField | null, value: string): UrlParts | null => {
    const response = address(text, base === null ? '' : base, field === null ? '' : field, value);
    return response === '' ? null : (parse(response) as UrlParts);
  };
  const given = [values, encodings, bodies, digests, bridge, deps.makeUrlClasses(request), deps.makeStructuredClone()];
  const fix = (name: string, value: unknown): void => {
    defineProperty(scope, name, { value, writable: false, enumerable: false, configurable: false });
  };
  const ownConsole = given.find(({ globals }) => 'console' in globals)?.globals['console'];
  for (const { globals } of given) {
    for (const name of getOwnPropertyNames(globals)) {
      const value = globals[name];
      if (typeof value === 'function') {
        const prototype = getOwnPropertyDescriptor(value, 'prototype')?.value;
        if (typeof prototype === 'object' && prototype !== null && name !== 'MillraceError' && name !== 'Refusal') {
          freeze(prototype);
        }
        freeze(value);
      }
      // V8 adds its own console to every context, and aborts the process if the name is taken.
      if (name !== 'console') fix(name, value);
    }
  }
  const lock = (seed: string): void => {
    digests.seed(seed);
    bridge.beginCall(1);
    // Code behind these would run outside of a call, wait in a thread, or compile code that no limit covers.
    for (const name of [
      'WebAssembly',
      'SharedArrayBuffer',
      'Atomics',
      'FinalizationRegistry',
      'WeakRef',
      'ShadowRealm',
    ]) {
      deleteProperty(scope, name);
    }
    fix('console', ownConsole);
  };

  const end = (call: CallBridge, ending: IsolateOutcome, text: string): void => call.end(stringify(ending), text);

  const fail = (call: CallBridge, thrown: unknown, kind: FunctionKind, index: number): void => {
    const { message, stack, refusal } = values.describe(thrown);
    if (refusal !== null && kind === 'beforeWrite') end(call, { kind: 'refusal', message, ...refusal, index }, '');
    else end(call, { kind: 'error', message, stack }, '');
  };

  const endWith = async (call: CallBridge, value: unknown, kind: FunctionKind): Promise<void> => {
    if (kind === 'http') {
      const response = value === undefined ? { status: 204, headers: {}, body: null } : values.responseOf(value);
      if (response !== null) {
        const { status, headers } = response;
        const { body: given } = response;
        const body = bodies.isStreaming(given) ? await bodies.collect(given, limits.resultBytes) : given;
        if (body !== null && body.length > limits.resultBytes) throw new RangeError('The body is longer than 5 MB');
        const isBase64 = body !== null && typeof body !== 'string';
        const text = isBase64 ? encodings.toBase64(body) : (body ?? '');
        end(call, { kind: 'response', status, headers, hasBody: body !== null, isBase64 }, text);
        return;
      }
    }
    const text = stringify(value) ?? 'null';
    if (text.length > limits.resultBytes) throw new RangeError('The result is longer than 5 MB');
    end(call, { kind: 'value' }, text);
  };

  /** JSON of a hook's result, which must be a document. */
  const asDocument = (result: unknown): string => {
    const text = stringify(result);
    if (text !== undefined && text !== 'null') return text;
    const what = result === null ? 'null' : 'a value that is not an object';
    throw new Error(`It returned ${what}: return the document, or undefined to leave it unchanged`);
  };

  type Called = (input: unknown, ctx: object) => unknown;

  let loaded: AuthorModule = {};

  const run = async (call: CallBridge, { kind, facts }: CallStartData, inputText: string): Promise<void> => {
    let index = 0;
    try {
      const called = loaded.default;
      if (typeof called !== 'function') throw new TypeError('The default export is not a function');
      const input: unknown = parse(inputText);
      const ctx = contextOf(facts, call);
      if (kind !== 'beforeWrite' || !isArray(input)) {
        await endWith(call, await (called as Called)(input, ctx), kind);
        return;
      }
      // Serialized one by one: the code may change the result for one element during the next one.
      let results = '[';
      for (; index < input.length; index += 1) {
        // The code may modify its input.
        const isDeletion = input[index]?.action === 'delete';
        const result = await (called as Called)(input[index], ctx);
        results += `${index === 0 ? '' : ','}${result === undefined || isDeletion ? 'null' : asDocument(result)}`;
        if (results.length > limits.resultBytes) throw new RangeError('The result is longer than 5 MB');
      }
      end(call, { kind: 'value' }, `${results}]`);
    } catch (error) {
      fail(call, error, kind, index);
    }
  };

  return freeze({
    lock,
    start: (number: number, job: string, input: string, namespace?: AuthorModule): void => {
      if (namespace !== undefined) loaded = namespace;
      const current = bridge.current();
      run(current.call === number ? current : bridge.beginCall(number), parse(job) as CallStartData, input);
    },
    hostResult: (number: number, query: number, ok: boolean, text: string): void => {
      const current = bridge.current();
      if (current.call === number) current.hostResult(query, ok, text);
    },
    woken: (number: number): void => {
      const current = bridge.current();
      if (current.call === number) current.woken();
    },
  });
}
