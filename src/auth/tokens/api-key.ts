/**
 * An API key: its data, and the form of its secret. Shapes and pure functions; only a hash of the secret is kept, in
 * another place. Not here: where keys are kept (api-key-store.ts).
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { OwnMeta } from '../../database/system-collection.ts';
import type { KeyPrincipal } from '../identity/principal.ts';

export interface ApiKey {
  /** Also the visible part of the key. */
  readonly _id: string;
  readonly name: string;
  readonly roles: readonly string[];
  /** What it may reach and do at most; null for no such limit. */
  readonly collections: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly _meta: OwnMeta;
}

export interface ShownApiKey {
  readonly id: string;
  readonly name: string;
  /** How the key begins. */
  readonly prefix: string;
  readonly roles: readonly string[];
  readonly collections: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly lastUsedAt: string | null;
}

const FORM = /^mr_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A fresh id and secret, and both as the text that is shown once. */
export function makeKey(): { readonly id: string; readonly secret: string; readonly text: string } {
  const id = [...randomBytes(12)].map((byte) => LETTERS[byte % LETTERS.length] ?? '').join('');
  const secret = randomBytes(32).toString('base64url');
  return { id, secret, text: `mr_${id}_${secret}` };
}

/** The parts of a key; null for a text that cannot be a key. */
export function parseKey(text: string): { readonly id: string; readonly secret: string } | null {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Compares in a time that does not depend on where the two differ. */
export function isSecret(secret: string, hashed: string): boolean {
  const [one, other] = [Buffer.from(hashSecret(secret)), Buffer.from(hashed)];
  return one.length === other.length && timingSafeEqual(one, other);
}

export function toKeyPrincipal({ _id: id, roles, collections, actions, expiresAt }: ApiKey): KeyPrincipal {
  return Object.freeze({ kind: 'key', id, roles, collections, actions, expiresAt: expiresAt?.getTime() ?? null });
}

export function toShownKey(key: ApiKey, lastUsedAt: Date | null): ShownApiKey {
  const { _id: id, name, roles, collections, actions, expiresAt, _meta } = key;
  return {
    id,
    name,
    prefix: `mr_${id}_`,
    roles,
    collections,
    actions,
    expiresAt: expiresAt?.toISOString() ?? null,
    createdAt: _meta.createdAt.toISOString(),
    createdBy: _meta.createdBy,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
