/** API keys, created and revoked by administrators. Every operation takes the Scope that allows it. */
import { stampFromPrincipal } from '../identity/principal.ts';
import type { ApiKeyView } from '../tokens/api-key.ts';
import type { ApiKeyCreateParams, ApiKeys } from '../tokens/api-keys.ts';
import type { ManageAccountsScope } from './managed-users.ts';

export class ManagedApiKeys {
  readonly #keys: ApiKeys;

  constructor({ keys }: { readonly keys: ApiKeys }) {
    this.#keys = keys;
  }

  /** @param after id of the last one of the previous page */
  list(_scope: ManageAccountsScope<'read'>, after: string | null, limit: number): Promise<readonly ApiKeyView[]> {
    return this.#keys.list(after, limit);
  }

  /** Null when there is no such key. */
  get(_scope: ManageAccountsScope<'read'>, id: string): Promise<ApiKeyView | null> {
    return this.#keys.get(id);
  }

  /** @returns the key without its secret, and its text, which cannot be shown again */
  create(
    scope: ManageAccountsScope<'create'>,
    requested: ApiKeyCreateParams,
    request: string,
  ): ReturnType<ApiKeys['create']> {
    return this.#keys.create(requested, stampFromPrincipal(scope, request));
  }

  /** Revokes a key; false when there is none. */
  remove(scope: ManageAccountsScope<'delete'>, id: string, request: string): Promise<boolean> {
    return this.#keys.remove(id, stampFromPrincipal(scope, request));
  }
}
