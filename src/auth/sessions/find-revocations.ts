/**
 * Finds in rows of the event log the principals that have changed: ended sessions, changed or deleted users and keys,
 * other signing keys. Pure.
 */
import { changedFieldNames } from '../../database/bson/raw-bson.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import type { AuditEventType } from '../../lib/event-types.ts';
import type { Principal } from '../identity/principal.ts';

/** What is read of a row of the event log. */
export interface LogRowForRevocations {
  readonly operation: string;
  readonly collection: string | null;
  /** Raw `{_id: …}`. */
  readonly key: Buffer | null;
  readonly after: Buffer | null;
  readonly before: Buffer | null;
}

/** What changed: `session:…`, `user:…` (administrators too), `key:…`; or everything may have. */
export interface RevokedPrincipals {
  readonly ids: ReadonlySet<string>;
  readonly everything: boolean;
  /** True if other keys sign now. */
  readonly signingKeys: boolean;
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ['_sessions', 'session'],
  ['_users', 'user'],
  ['_keys', 'key'],
]);
/** Fields of a user or key that decide its rights. */
const REPORTING: ReadonlySet<string> = new Set([
  'kind',
  'roles',
  'claims',
  'disabled',
  'secondFactor',
  'user',
  'collections',
  'actions',
  'expiresAt',
]);
/** The event after which other keys sign. */
const ROTATED: AuditEventType = 'system.signing-keys.rotated';
const WHOLE: ReadonlySet<string> = new Set(['drop', 'rename', 'dropDatabase', 'gap', 'reset']);

/** Null when the rows change no principal. */
export function findRevocations(rows: readonly LogRowForRevocations[]): RevokedPrincipals | null {
  const ids = new Set<string>();
  let everything = false;
  let signingKeys = false;
  for (const row of rows) {
    const { operation, collection, key, after } = row;
    const kind = KINDS.get(collection ?? '');
    if (collection === '_activity' && operation === 'insert') {
      signingKeys ||= after !== null && decodeDocument(after)['type'] === ROTATED;
    } else if (WHOLE.has(operation)) everything ||= collection === null || kind !== undefined;
    else if (kind !== undefined && key !== null && reports(row))
      ids.add(`${kind}:${idText(decodeDocument(key)['_id'])}`);
  }
  return ids.size > 0 || everything || signingKeys ? { ids, everything: everything || signingKeys, signingKeys } : null;
}

function reports({ operation, before, after }: LogRowForRevocations): boolean {
  if (operation === 'insert') return false;
  if (operation === 'delete' || before === null || after === null) return true;
  return changedFieldNames(before, after).some((name) => REPORTING.has(name));
}

/** The ids of the session, user or key that a principal depends on. */
export function principalDependencies(principal: Principal): readonly string[] {
  switch (principal.kind) {
    case 'anonymous':
    case 'function':
      return [];
    case 'key':
      return [`key:${principal.id}`];
    case 'user':
    case 'admin':
      return [`user:${principal.id}`, `session:${principal.session}`];
    default:
      return principal satisfies never;
  }
}
