/**
 * API keys: made for programs, shown once, identified by their visible prefix, ended by their time or by an owner. Not
 * here: what a key may reach (policies/), and the verified keys that a process remembers (authenticator.ts).
 */
import { newMeta, type Stamp } from '../../database/system-collection.ts';
import { type ApiKey, hashSecret, isSecret, makeKey, parseKey, type ShownApiKey, toShownKey } from './api-key.ts';
import type { ApiKeyStore } from './api-key-store.ts';

/** How often the last use of keys is stored, in milliseconds. */
const NOTE_MS = 10_000;

export type NewApiKey = Pick<ApiKey, 'name' | 'roles' | 'collections' | 'actions' | 'expiresAt'>;

export interface ApiKeysParts {
  readonly store: ApiKeyStore;
  /** Called with keys that ended in this process, before the request is answered. */
  readonly onEnded: (id: string) => void;
  readonly onError: (error: unknown) => void;
  readonly now?: () => number;
}

export class ApiKeys {
  readonly #parts: ApiKeysParts;
  readonly #now: () => number;
  #used = new Map<string, Date>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(parts: ApiKeysParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  start(): void {
    this.#timer = setInterval(() => this.note().catch(this.#parts.onError), NOTE_MS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.note();
  }

  /** @returns the key as it is shown, and its text, which cannot be shown again */
  async create(wanted: NewApiKey, stamp: Stamp): Promise<ShownApiKey & { readonly key: string }> {
    const { id, secret, text } = makeKey();
    const key: ApiKey = { _id: id, ...wanted, _meta: newMeta(stamp, new Date(this.#now())) };
    await this.#parts.store.insert(key, hashSecret(secret));
    return { ...toShownKey(key, null), key: text };
  }

  async list(after: string | null, limit: number): Promise<ShownApiKey[]> {
    await this.note();
    const keys = await this.#parts.store.list(after, limit);
    const used = await this.#parts.store.usedAt(keys.map(({ _id }) => _id));
    return keys.map((key) => toShownKey(key, used.get(key._id) ?? null));
  }

  /** How many have not ended. */
  count(): Promise<number> {
    return this.#parts.store.count(new Date(this.#now()));
  }

  async get(id: string): Promise<ShownApiKey | null> {
    await this.note();
    const key = await this.#parts.store.find(id);
    if (key === null) return null;
    return toShownKey(key, (await this.#parts.store.usedAt([id])).get(id) ?? null);
  }

  /** Ends a key; false when there is none. */
  async remove(id: string, stamp: Stamp): Promise<boolean> {
    const removed = await this.#parts.store.remove(id, stamp);
    this.#parts.onEnded(id);
    return removed;
  }

  /** The key with this text; null when there is none, or it has ended. */
  async find(text: string): Promise<ApiKey | null> {
    const parts = parseKey(text);
    if (parts === null) return null;
    const [hashed, key] = await Promise.all([this.#parts.store.hashOf(parts.id), this.#parts.store.find(parts.id)]);
    if (hashed === null || key === null || !isSecret(parts.secret, hashed)) return null;
    return this.#isOver(key) ? null : key;
  }

  /** The current state of a key, by its id, for a principal that was verified earlier. */
  async current(id: string): Promise<ApiKey | null> {
    const key = await this.#parts.store.find(id);
    return key === null || this.#isOver(key) ? null : key;
  }

  /** Remembers that a key was used. */
  touch(id: string, at: number): void {
    this.#used.set(id, new Date(at));
  }

  /** Stores the last uses. */
  async note(): Promise<void> {
    const used = this.#used;
    this.#used = new Map();
    await this.#parts.store.setUsed(used);
  }

  #isOver({ expiresAt }: ApiKey): boolean {
    return expiresAt !== null && expiresAt.getTime() <= this.#now();
  }
}
