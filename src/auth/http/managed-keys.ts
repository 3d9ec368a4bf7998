/** API keys, created and revoked by administrators. Every operation takes the Scope that allows it. */
import { stampBy } from '../identity/principal.ts';
import type { ApiKeyView } from '../tokens/api-key.ts';
import type { ApiKeys, NewApiKey } from '../tokens/api-keys.ts';
import type { UsersScope } from './managed-users.ts';

export class ManagedKeys {
  readonly #keys: ApiKeys;

  constructor({ keys }: { readonly keys: ApiKeys }) {
    this.#keys = keys;
  }

  /** @param after id of the last one of the previous page */
  list(_scope: UsersScope<'read'>, after: string | null, limit: number): Promise<readonly ApiKeyView[]> {
    return this.#keys.list(after, limit);
  }

  /** Null when there is no such key. */
  get(_scope: UsersScope<'read'>, id: string): Promise<ApiKeyView | null> {
    return this.#keys.get(id);
  }

  /** @returns the key without its secret, and its text, which cannot be shown again */
  create(scope: UsersScope<'create'>, requested: NewApiKey, request: string): ReturnType<ApiKeys['create']> {
    return this.#keys.create(requested, stampBy(scope, request));
  }

  /** Revokes a key; false when there is none. */
  remove(scope: UsersScope<'delete'>, id: string, request: string): Promise<boolean> {
    return this.#keys.remove(id, stampBy(scope, request));
  }
}
