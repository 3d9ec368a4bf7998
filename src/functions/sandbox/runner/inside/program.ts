/**
 * The program around an author's code inside an isolate: it puts the globals in place, takes dangerous ones away, calls the default
 * export and tells the runner how that ended. The function is sent to the isolate as text together with the others of this folder.
 */
import type { CallFacts, FunctionKind } from '../../sandbox.ts';
import type { WireOutcome } from '../../wire/messages.ts';
import type { AddressMember, AddressParts, makeAddresses } from './addresses.ts';
import type { AskingLimits, makeAsking, Post } from './asking.ts';
import type { makeBodies } from './bodies.ts';
import type { makeCloning } from './cloning.ts';
import type { makeContext } from './context.ts';
import type { makeDigests } from './digests.ts';
import type { makeEncodings } from './encodings.ts';
import type { makeValues } from './values.ts';
import type { makeWebhooks } from './webhooks.ts';

/** The functions of this folder, as the isolate has them. */
export interface InsideParts {
  readonly makeAddresses: typeof makeAddresses;
  readonly makeAsking: typeof makeAsking;
  readonly makeBodies: typeof makeBodies;
  readonly makeCloning: typeof makeCloning;
  readonly makeContext: typeof makeContext;
  readonly makeDigests: typeof makeDigests;
  readonly makeEncodings: typeof makeEncodings;
  readonly makeValues: typeof makeValues;
  readonly makeWebhooks: typeof makeWebhooks;
}

export interface ProgramLimits extends AskingLimits {
  readonly resultBytes: number;
}

/** What the runner gives a call that begins. */
export interface Job {
  readonly kind: FunctionKind;
  readonly facts: CallFacts;
  /** 32 random bytes as base64. */
  readonly seed: string;
}

/** How a call ended, as its isolate says. The value or the body is beside it. */
export type Ending =
  | Exclude<WireOutcome, { readonly kind: 'fault' }>
  | { readonly kind: 'fault'; readonly message: string; readonly stack: string | null };

/** What the runner calls in the isolate: strings, numbers, and the namespace of the author's module. */
export interface Program {
  /** Takes dangerous globals away: in the context, because V8 puts its own into every context, whatever the snapshot has. */
  readonly lock: () => void;
  readonly start: (namespace: { readonly default?: unknown }, job: string, input: string) => void;
  readonly answered: (number: number, ok: boolean, text: string) => void;
  readonly woken: () => void;
}

/** Runs when the snapshot of new contexts is made. What it returns is locked in each context, before any code of an author. */
export function makeProgram(
  scope: Record<string, unknown>,
  parts: InsideParts,
  post: Post,
  /** Answers JSON of the parts of an address, or an empty text. */
  address: (text: string, base: string, member: string, value: string) => string,
  limits: ProgramLimits,
): Program {
  const { parse, stringify } = JSON;
  const { isArray } = Array;
  const { freeze, defineProperty, getOwnPropertyNames, getOwnPropertyDescriptor } = Object;
  const { deleteProperty } = Reflect;

  const encodings = parts.makeEncodings();
  const bodies = parts.makeBodies(encodings);
  const values = parts.makeValues(bodies);
  const digests = parts.makeDigests(encodings);
  const asking = parts.makeAsking(post, values, limits);
  const webhooks = parts.makeWebhooks(encodings, digests, values);
  const contextOf = parts.makeContext(asking, { encodings, bodies, values, webhooks }, limits.argumentBytes);
  const ask = (text: string, base: string | null, member: AddressMember | null, value: string): AddressParts | null => {
    const answer = address(text, base === null ? '' : base, member === null ? '' : member, value);
    return answer === '' ? null : (parse(answer) as AddressParts);
  };
  const given = [values, encodings, bodies, digests, asking, parts.makeAddresses(ask), parts.makeCloning()];
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
      // V8 puts a console of its own into every context, and ends the process when its place is taken already.
      if (name !== 'console') fix(name, value);
    }
  }
  const lock = (): void => {
    // Code behind these would run outside of a call, wait in a thread, or compile what no limit covers.
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

  const end = (ending: Ending, text: string): void => post('done', 0, stringify(ending), text);

  const fail = (thrown: unknown, kind: FunctionKind, index: number): void => {
    const { message, stack, refusal } = values.describe(thrown);
    if (refusal !== null && kind === 'before') end({ kind: 'refusal', message, ...refusal, index }, '');
    else end({ kind: 'fault', message, stack }, '');
  };

  const endWith = async (value: unknown, kind: FunctionKind): Promise<void> => {
    if (kind === 'endpoint') {
      const response = value === undefined ? { status: 204, headers: {}, body: null } : values.responseOf(value);
      if (response !== null) {
        const { status, headers } = response;
        const { body: given } = response;
        const body = bodies.isStreaming(given) ? await bodies.collect(given, limits.resultBytes) : given;
        if (body !== null && body.length > limits.resultBytes) throw new RangeError('The body is longer than 5 MB');
        const isBase64 = body !== null && typeof body !== 'string';
        const text = isBase64 ? encodings.toBase64(body) : (body ?? '');
        end({ kind: 'response', status, headers, hasBody: body !== null, isBase64 }, text);
        return;
      }
    }
    const text = stringify(value) ?? 'null';
    if (text.length > limits.resultBytes) throw new RangeError('The result is longer than 5 MB');
    end({ kind: 'value' }, text);
  };

  /** JSON of what a function returned for a write, which means something only if it is a document. */
  const asDocument = (result: unknown): string => {
    const text = stringify(result);
    if (text !== undefined && text !== 'null') return text;
    const what = result === null ? 'null' : 'no object';
    throw new Error(`It returned ${what}: return the document, or undefined to leave it as it is`);
  };

  type Called = (input: unknown, ctx: object) => unknown;

  const run = async (
    namespace: { readonly default?: unknown },
    { kind, facts, seed }: Job,
    inputText: string,
  ): Promise<void> => {
    let index = 0;
    try {
      digests.seed(seed);
      const called = namespace.default;
      if (typeof called !== 'function') throw new TypeError('The default export is not a function');
      const input: unknown = parse(inputText);
      const ctx = contextOf(facts);
      if (kind !== 'before' || !isArray(input)) {
        await endWith(await (called as Called)(input, ctx), kind);
        return;
      }
      // As text, one by one: what is returned for one element may be changed while the next one is looked at.
      let results = '[';
      for (; index < input.length; index += 1) {
        // The code may change what it is given.
        const isDeletion = input[index]?.action === 'delete';
        const result = await (called as Called)(input[index], ctx);
        results += `${index === 0 ? '' : ','}${result === undefined || isDeletion ? 'null' : asDocument(result)}`;
        if (results.length > limits.resultBytes) throw new RangeError('The result is longer than 5 MB');
      }
      end({ kind: 'value' }, `${results}]`);
    } catch (error) {
      fail(error, kind, index);
    }
  };

  return freeze({
    lock,
    start: (namespace: { readonly default?: unknown }, job: string, input: string): void => {
      run(namespace, parse(job) as Job, input);
    },
    answered: asking.answered,
    woken: asking.woken,
  });
}
