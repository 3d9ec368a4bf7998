/**
 * What must not compile: an operation that gets the Scope of another action, or of another resource. The type check
 * fails when one of the lines that expect an error has none. At run time the Scope has its action.
 */
import t from 'tap';
import type { ManagedUsers } from '../../src/auth/http/managed-users.ts';
import { ANONYMOUS } from '../../src/auth/identity/principal.ts';
import type { CollectionAdmin } from '../../src/collections/collection-admin.ts';
import type { Collections } from '../../src/collections/collections.ts';
import { type CollectionName, parseCollectionName } from '../../src/database/parse-collection-name.ts';
import type { Files } from '../../src/files/files.ts';
import { Policies } from '../../src/policies/policies.ts';
import { castScope } from '../../src/policies/scope.ts';

const policies = new Policies('development');
const todos = parseCollectionName('todos');
const read = policies.scope(ANONYMOUS, 'read', todos);
const get = policies.scope(ANONYMOUS, 'get', '_files');
const build = policies.scope(ANONYMOUS, 'delete', '_admin');

/** Never called: only the types count. */
export function misuses(collections: Collections, files: Files, catalogue: CollectionAdmin, accounts: ManagedUsers) {
  const write = { request: '', preconditions: {} };
  const name: CollectionName = todos;
  return [
    files.get(get, 'a'),
    catalogue.drop(build, name),
    // @ts-expect-error a Scope of reading for a write
    collections.remove(read, name, 'a', write),
    // @ts-expect-error a Scope of getting one file for a deletion
    files.remove(get, 'a', ''),
    // @ts-expect-error a Scope of a collection for the administration
    catalogue.list(read),
    // @ts-expect-error a Scope of deleting for reading
    catalogue.list(build),
    // @ts-expect-error a Scope of the administration for accounts
    accounts.remove(build, 'a', ''),
    // @ts-expect-error no Scope at all
    accounts.list(null, null, null, 1),
  ];
}

t.test('a Scope carries its action and resource', async (t) => {
  t.equal(read.action, 'read');
  t.equal(get.action, 'read', 'to get is to read');
  t.equal(build.action, 'delete');
  t.throws(() => castScope(read, 'delete', todos), TypeError, 'it is not taken for another');
});
