/** Hooks made by tests: what sees writes before they are made, without functions. */
import type { HookAnswer, Showing, ShownWrite, WriteHook } from '../../../src/collections/write-hooks.ts';
import type { Parts } from '../../../src/parts.ts';

type Members = Record<string, unknown>;

interface Shown {
  readonly document: Members | null;
  readonly before: Members | null;
}

type Answer = (write: Shown, showing: Showing, index: number) => HookAnswer;

export const parsed = (text: string | null): Members | null => (text === null ? null : JSON.parse(text));

/** A hook that answers as `answer` says, and notes what it was shown. */
export function hookOf(answer: Answer): WriteHook & { readonly calls: Shown[][] } {
  const calls: Shown[][] = [];
  return {
    calls,
    see: async (writes: readonly ShownWrite[], showing) => {
      const shown = writes.map(({ document, before }) => ({ document: parsed(document), before: parsed(before) }));
      calls.push(shown);
      return shown.map((one, index) => answer(one, showing, index));
    },
  };
}

/** Hangs hooks on the writes of one collection. */
export function hang(parts: Parts, collection: string, ...hooks: readonly WriteHook[]): void {
  parts.writeHooks.attach({ of: (name) => (name === collection ? hooks : null) });
}
