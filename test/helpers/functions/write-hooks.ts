/** Write hooks of tests, without functions. */
import type {
  HookResponse,
  WriteHook,
  WriteHookContext,
  WriteHookInput,
} from '../../../src/collections/write-hooks.ts';
import type { Services } from '../../../src/services.ts';

type Fields = Record<string, unknown>;

interface Shown {
  readonly document: Fields | null;
  readonly before: Fields | null;
}

type ApiResponse = (write: Shown, showing: WriteHookContext, index: number) => HookResponse;

export const parsed = (text: string | null): Fields | null => (text === null ? null : JSON.parse(text));

/** A hook that returns what `answer` says, and records its input. */
export function hookOf(response: ApiResponse): WriteHook & { readonly calls: Shown[][] } {
  const calls: Shown[][] = [];
  return {
    calls,
    check: async (writes: readonly WriteHookInput[], showing) => {
      const shown = writes.map(({ document, before }) => ({ document: parsed(document), before: parsed(before) }));
      calls.push(shown);
      return shown.map((one, index) => response(one, showing, index));
    },
  };
}

/** Registers hooks for the writes of one collection. */
export function hang(services: Services, collection: string, ...hooks: readonly WriteHook[]): void {
  services.writeHooks.attach({ hooksFor: (name) => (name === collection ? hooks : null) });
}
