/**
 * API keys: created for programs, shown once, identified by their visible prefix, ended by their expiry or by an
 * administrator.
 */
import { type ChangeStamp, newDocumentMeta } from '../../database/system-collection.ts';
import {
  type ApiKey,
  type ApiKeyView,
  generateApiKey,
  hashApiKeySecret,
  parseApiKey,
  toApiKeyView,
  verifyApiKeySecret,
} from './api-key.ts';
import type { ApiKeyStore } from './api-key-store.ts';

/** How often the last use of keys is stored, in milliseconds. */
const NOTE_MS = 10_000;

export type ApiKeyCreateParams = Pick<ApiKey, 'name' | 'roles' | 'resources' | 'actions' | 'expiresAt'>;

export interface ApiKeysDeps {
  readonly store: ApiKeyStore;
  /** Called with keys that ended in this process, before the response is sent. */
  readonly onEnded: (id: string) => void;
  readonly onError: (error: unknown) => void;
  readonly now?: () => number;
}

export class ApiKeys {
  readonly #deps: ApiKeysDeps;
  readonly #now: () => number;
  #used = new Map<string, Date>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(deps: ApiKeysDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  start(): void {
    this.#timer = setInterval(() => this.note().catch(this.#deps.onError), NOTE_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.note();
  }

  /** @returns the key without its secret, and its text, which cannot be shown again */
  async create(requested: ApiKeyCreateParams, stamp: ChangeStamp): Promise<ApiKeyView & { readonly key: string }> {
    const { id, secret, text } = generateApiKey();
    const key: ApiKey = { _id: id, ...requested, _meta: newDocumentMeta(stamp, new Date(this.#now())) };
    await this.#deps.store.insert(key, hashApiKeySecret(secret));
    return { ...toApiKeyView(key, null), key: text };
  }

  async list(after: string | null, limit: number): Promise<ApiKeyView[]> {
    await this.note();
    const keys = await this.#deps.store.list(after, limit);
    const used = await this.#deps.store.usedAt(keys.map(({ _id }) => _id));
    return keys.map((key) => toApiKeyView(key, used.get(key._id) ?? null));
  }

  /** How many are active. */
  count(): Promise<number> {
    return this.#deps.store.count(new Date(this.#now()));
  }

  async get(id: string): Promise<ApiKeyView | null> {
    await this.note();
    const key = await this.#deps.store.find(id);
    if (key === null) return null;
    return toApiKeyView(key, (await this.#deps.store.usedAt([id])).get(id) ?? null);
  }

  /** Revokes a key; false when there is none. */
  async remove(id: string, stamp: ChangeStamp): Promise<boolean> {
    const removed = await this.#deps.store.remove(id, stamp);
    this.#deps.onEnded(id);
    return removed;
  }

  /** The key with this text; null when there is none, or it has ended. */
  async find(text: string): Promise<ApiKey | null> {
    const parts = parseApiKey(text);
    if (parts === null) return null;
    const [hashed, key] = await Promise.all([this.#deps.store.hashOf(parts.id), this.#deps.store.find(parts.id)]);
    if (hashed === null || key === null || !verifyApiKeySecret(parts.secret, hashed)) return null;
    return this.#isOver(key) ? null : key;
  }

  /** The current state of a key, by its id, for a principal that was verified earlier. */
  async current(id: string): Promise<ApiKey | null> {
    const key = await this.#deps.store.find(id);
    return key === null || this.#isOver(key) ? null : key;
  }

  /** Records that a key was used. */
  touch(id: string, at: number): void {
    this.#used.set(id, new Date(at));
  }

  /** Stores the last uses. */
  async note(): Promise<void> {
    const used = this.#used;
    this.#used = new Map();
    await this.#deps.store.setUsed(used);
  }

  #isOver({ expiresAt }: ApiKey): boolean {
    return expiresAt !== null && expiresAt.getTime() <= this.#now();
  }
}
