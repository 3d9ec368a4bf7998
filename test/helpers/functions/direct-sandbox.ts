/**
 * A sandbox without isolation: it runs functions of the test in this process, with the host API of the real one. For
 * tests of the host; the limits of code are tested on the real sandbox.
 */
import type { HostArguments, HostResults } from '../../../src/functions/sandbox/host-schemas.ts';
import type { CallOutcome, Sandbox, SandboxCall } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/lib/errors.ts';

export type SendRequest = <O extends keyof HostArguments>(
  operation: O,
  argument: HostArguments[O],
) => Promise<HostResults[O]>;

export interface Inside {
  readonly request: SendRequest;
  /** Sends any text as the argument. */
  readonly raw: SandboxCall['host'];
  readonly call: SandboxCall;
  readonly log: (text: string) => void;
}

export type Code = (inside: Inside) => unknown;

export class DirectSandbox implements Pick<Sandbox, 'call'> {
  /** Code by file. */
  readonly #code: Readonly<Record<string, Code>>;

  constructor(code: Readonly<Record<string, Code>>) {
    this.#code = code;
  }

  async call(call: SandboxCall): Promise<CallOutcome> {
    const request: SendRequest = async (operation, argument) =>
      JSON.parse(await call.host(operation, JSON.stringify(argument)));
    const log = (text: string) => call.onLog({ at: new Date(), level: 'info', text });
    const code = this.#code[call.file.replace('.ts', '')];
    try {
      const value = await code?.({ request, raw: call.host, call, log });
      return { kind: 'value', value: JSON.stringify(value ?? null), cpuMs: 1 };
    } catch (error) {
      const { message, stack = null } = error instanceof Error ? error : new Error(String(error));
      const code = error instanceof MillraceError ? `${error.code}: ` : '';
      return { kind: 'error', code: 'function-failed', message: code + message, stack, cpuMs: 1 };
    }
  }
}
