/**
 * A sandbox that is made when it is first needed, so that an installation without functions loads and starts nothing for them.
 * Not here: the sandbox itself (sandbox/).
 */
import type { BundleFault, CallOutcome, Sandbox, SandboxCall } from './sandbox/sandbox.ts';

export class LazySandbox implements Sandbox {
  readonly #make: () => Promise<Sandbox>;
  #made: Promise<Sandbox> | null = null;
  #stopped = false;

  /** @param make called once, and again after it failed */
  constructor(make: () => Promise<Sandbox>) {
    this.#make = make;
  }

  async check(...asked: Parameters<Sandbox['check']>): Promise<readonly BundleFault[]> {
    return (await this.#sandbox()).check(...asked);
  }

  async call(call: SandboxCall): Promise<CallOutcome> {
    return (await this.#sandbox()).call(call);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const made = await this.#made?.catch(() => null);
    await made?.stop();
  }

  #sandbox(): Promise<Sandbox> {
    if (this.#stopped) throw new Error('The sandbox is stopped');
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = null;
      throw error;
    });
    return this.#made;
  }
}
