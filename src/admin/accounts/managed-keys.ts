/**
 * API keys, as those who run the installation make and end them. Every operation takes the Scope that allows it. Not
 * here: what a key is (auth/tokens/api-keys.ts).
 */
import { stampBy } from '../../auth/identity/principal.ts';
import type { ShownApiKey } from '../../auth/tokens/api-key.ts';
import type { ApiKeys, NewApiKey } from '../../auth/tokens/api-keys.ts';
import type { AccountsScope } from './managed-accounts.ts';

export class ManagedKeys {
  readonly #keys: ApiKeys;

  constructor({ keys }: { readonly keys: ApiKeys }) {
    this.#keys = keys;
  }

  /** @param after id of the last one of the page before */
  list(_scope: AccountsScope<'read'>, after: string | null, limit: number): Promise<readonly ShownApiKey[]> {
    return this.#keys.list(after, limit);
  }

  /** Null when there is no such key. */
  get(_scope: AccountsScope<'read'>, id: string): Promise<ShownApiKey | null> {
    return this.#keys.get(id);
  }

  /** @returns the key as it is shown, and its text, which cannot be shown again */
  create(scope: AccountsScope<'create'>, wanted: NewApiKey, request: string): ReturnType<ApiKeys['create']> {
    return this.#keys.create(wanted, stampBy(scope, request));
  }

  /** Ends a key; false when there is none. */
  remove(scope: AccountsScope<'delete'>, id: string, request: string): Promise<boolean> {
    return this.#keys.remove(id, stampBy(scope, request));
  }
}
