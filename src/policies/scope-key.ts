/**
 * A key that is equal for Scopes that reach and show the same, for any principal. With it, the subscriptions of many
 * clients can be one group, and a cached response is reused only for the same view. Pure; computed once for each array
 * of grants.
 */
import { createHash } from 'node:crypto';
import { EJSON } from 'bson';
import type { FieldTree } from '../query/evaluate/field-tree.ts';
import type { Scope } from './scope.ts';

const keys = new WeakMap<Scope['grants'], string>();

export function scopeKey({ grants, denied }: Scope): string {
  const known = keys.get(grants);
  if (known !== undefined) return known;
  const seen = grants.map(({ filter, read }) => ({ filter, read: treeText(read) }));
  const text = EJSON.stringify({ seen, denied }, { relaxed: false });
  const key = createHash('sha256').update(text).digest('base64url');
  keys.set(grants, key);
  return key;
}

function treeText({ rest, fields }: FieldTree): string {
  const own = [...fields].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${rest ? '*' : '-'}{${own.map(([name, tree]) => `${JSON.stringify(name)}:${treeText(tree)}`).join()}}`;
}
