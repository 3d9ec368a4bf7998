/** A sandbox that is created on first use, so that an instance without functions loads and starts nothing for them. */
import type { BundleError, CallOutcome, Sandbox, SandboxCall } from './sandbox/sandbox.ts';

export class LazySandbox implements Sandbox {
  readonly #make: () => Promise<Sandbox>;
  #created: Promise<Sandbox> | null = null;
  #stopped = false;

  /** @param make called once, and again after a failure */
  constructor(make: () => Promise<Sandbox>) {
    this.#make = make;
  }

  async check(...requested: Parameters<Sandbox['check']>): Promise<readonly BundleError[]> {
    return (await this.#sandbox()).check(...requested);
  }

  async call(call: SandboxCall): Promise<CallOutcome> {
    return (await this.#sandbox()).call(call);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    const created = await this.#created?.catch(() => null);
    await created?.stop();
  }

  #sandbox(): Promise<Sandbox> {
    if (this.#stopped) throw new Error('The sandbox is stopped');
    this.#created ??= this.#make().catch((error: unknown) => {
      this.#created = null;
      throw error;
    });
    return this.#created;
  }
}
