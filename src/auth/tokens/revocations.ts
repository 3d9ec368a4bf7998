/**
 * Finds in rows of the event log the principals that have changed: ended sessions, changed or deleted accounts and
 * keys, other signing keys. Pure. Not here: forgetting them (authenticator.ts).
 */
import { rawDifference } from '../../database/bson/raw.ts';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import type { Occurrence } from '../../kernel/event-types.ts';
import type { Principal } from '../identity/principal.ts';

/** What is read of a row of the event log. */
export interface ChangedRow {
  readonly operation: string;
  readonly collection: string | null;
  /** Raw `{_id: …}`. */
  readonly key: Buffer | null;
  readonly after: Buffer | null;
  readonly before: Buffer | null;
}

/** What changed: `session:…`, `user:…` (owners too), `key:…`; or everything may have. */
export interface Revoked {
  readonly ids: ReadonlySet<string>;
  readonly everything: boolean;
  /** True if other keys sign now. */
  readonly keyRing: boolean;
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ['_sessions', 'session'],
  ['_users', 'user'],
  ['_keys', 'key'],
]);
/** Members of an account or key that decide its rights. */
const TELLING: ReadonlySet<string> = new Set([
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
/** The occurrence after which other keys sign. */
const ROTATED: Occurrence = 'system.key-ring.rotated';
const WHOLE: ReadonlySet<string> = new Set(['drop', 'rename', 'dropDatabase', 'gap', 'reset']);

/** Null when the rows change no principal. */
export function readRevoked(rows: readonly ChangedRow[]): Revoked | null {
  const ids = new Set<string>();
  let everything = false;
  let keyRing = false;
  for (const row of rows) {
    const { operation, collection, key, after } = row;
    const kind = KINDS.get(collection ?? '');
    if (collection === '_activity' && operation === 'insert') {
      keyRing ||= after !== null && readStored(after)['type'] === ROTATED;
    } else if (WHOLE.has(operation)) everything ||= collection === null || kind !== undefined;
    else if (kind !== undefined && key !== null && tells(row)) ids.add(`${kind}:${idText(readStored(key)['_id'])}`);
  }
  return ids.size > 0 || everything || keyRing ? { ids, everything: everything || keyRing, keyRing } : null;
}

function tells({ operation, before, after }: ChangedRow): boolean {
  if (operation === 'insert') return false;
  if (operation === 'delete' || before === null || after === null) return true;
  return rawDifference(before, after).some((name) => TELLING.has(name));
}

/** The ids of the session, account or key that a principal depends on. */
export function restsOn(principal: Principal): readonly string[] {
  switch (principal.kind) {
    case 'anonymous':
    case 'function':
      return [];
    case 'key':
      return [`key:${principal.id}`];
    case 'user':
    case 'owner':
      return [`user:${principal.id}`, `session:${principal.session}`];
    default:
      return principal satisfies never;
  }
}
