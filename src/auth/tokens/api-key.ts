/**
 * An API key: its data, and the form of its secret. Types and pure functions; only a hash of the secret is stored,
 * separately.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SystemDocumentMeta } from '../../database/system-collection.ts';
import type { KeyPrincipal } from '../identity/principal.ts';

export interface ApiKey {
  /** Also the visible part of the key. */
  readonly _id: string;
  readonly name: string;
  readonly roles: readonly string[];
  /** Its limits of resources and actions; null for no such limit. */
  readonly resources: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expiresAt: Date | null;
  readonly _meta: SystemDocumentMeta;
}

export interface ApiKeyView {
  readonly id: string;
  readonly name: string;
  /** The first characters of the key. */
  readonly prefix: string;
  readonly roles: readonly string[];
  readonly resources: readonly string[] | null;
  readonly actions: readonly string[] | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly lastUsedAt: string | null;
}

const FORM = /^mr_([A-Za-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
const EMAILS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A new id and secret, and both as the text that is shown once. */
export function generateApiKey(): { readonly id: string; readonly secret: string; readonly text: string } {
  const id = [...randomBytes(12)].map((byte) => EMAILS[byte % EMAILS.length] ?? '').join('');
  const secret = randomBytes(32).toString('base64url');
  return { id, secret, text: `mr_${id}_${secret}` };
}

/** The parts of a key; null for a text that cannot be a key. */
export function parseApiKey(text: string): { readonly id: string; readonly secret: string } | null {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? null : { id, secret };
}

export function hashApiKeySecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Compares in constant time. */
export function verifyApiKeySecret(secret: string, hashed: string): boolean {
  const [one, other] = [Buffer.from(hashApiKeySecret(secret)), Buffer.from(hashed)];
  return one.length === other.length && timingSafeEqual(one, other);
}

export function toKeyPrincipal({ _id: id, roles, resources: collections, actions, expiresAt }: ApiKey): KeyPrincipal {
  return Object.freeze({
    kind: 'key',
    id,
    roles,
    resources: collections,
    actions,
    expiresAt: expiresAt?.getTime() ?? null,
  });
}

export function toApiKeyView(key: ApiKey, lastUsedAt: Date | null): ApiKeyView {
  const { _id: id, name, roles, resources: collections, actions, expiresAt, _meta } = key;
  return {
    id,
    name,
    prefix: `mr_${id}_`,
    roles,
    resources: collections,
    actions,
    expiresAt: expiresAt?.toISOString() ?? null,
    createdAt: _meta.createdAt.toISOString(),
    createdBy: _meta.createdBy,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  };
}
