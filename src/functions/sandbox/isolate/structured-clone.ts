/**
 * `structuredClone` inside an isolate, for the values that functions use: plain values, dates, maps, sets, buffers and errors,
 * with cycles. Sent to the isolate as text, so it references nothing outside itself.
 */

/** Runs in an isolate, before any author code. */
export function makeStructuredClone(): { readonly globals: Readonly<Record<string, unknown>> } {
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { ownKeys, getOwnPropertyDescriptor } = Reflect;
  const { defineProperty } = Object;
  const [Dates, Maps, Sets, Patterns, Errors, Buffers] = [Date, Map, Set, RegExp, Error, ArrayBuffer];

  const cloneView = (view: ArrayBufferView, seen: Map<unknown, unknown>): unknown => {
    const buffer = clone(view.buffer, seen);
    const Type = view.constructor as new (buffer: unknown, offset: number, length: number) => unknown;
    const length = 'length' in view ? (view as Uint8Array).length : view.byteLength;
    return new Type(buffer, view.byteOffset, length);
  };

  const cloneFields = (from: object, to: object, seen: Map<unknown, unknown>): void => {
    for (const key of ownKeys(from)) {
      if (typeof key === 'symbol') continue;
      const descriptor = getOwnPropertyDescriptor(from, key);
      if (descriptor?.enumerable !== true) continue;
      const value = clone((from as Record<string, unknown>)[key], seen);
      defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true });
    }
  };

  /** The copy of an object, without its properties yet; undefined for a view, which has none. */
  const shell = (value: object): object | undefined => {
    if (isArray(value)) return new Array(value.length);
    if (value instanceof Dates) return new Dates(value.getTime());
    if (value instanceof Patterns) return new Patterns(value.source, value.flags);
    if (value instanceof Maps) return new Maps();
    if (value instanceof Sets) return new Sets();
    if (value instanceof Buffers) return value.slice(0);
    if (isView(value)) return undefined;
    if (value instanceof Errors) return new Errors(value.message);
    return {};
  };

  function clone(value: unknown, seen: Map<unknown, unknown>): unknown {
    if (typeof value === 'function' || typeof value === 'symbol') {
      throw new TypeError('A function or symbol cannot be cloned');
    }
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return seen.get(value);
    const copy = shell(value) ?? cloneView(value as ArrayBufferView, seen);
    seen.set(value, copy);
    if (value instanceof Maps) {
      for (const [key, field] of value) (copy as Map<unknown, unknown>).set(clone(key, seen), clone(field, seen));
    } else if (value instanceof Sets) {
      for (const field of value) (copy as Set<unknown>).add(clone(field, seen));
    } else if (value instanceof Errors) {
      defineProperty(copy, 'name', { value: `${value.name}`, writable: true, configurable: true });
      defineProperty(copy, 'stack', { value: `${value.stack}`, writable: true, configurable: true });
    } else if (!isView(value) && !(value instanceof Buffers)) cloneFields(value, copy as object, seen);
    return copy;
  }

  const structuredClone = (value: unknown): unknown => clone(value, new Maps());
  return { globals: { structuredClone } };
}
