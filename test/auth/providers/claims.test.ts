/** What the mapping takes from a provider's claims: fields of the profile, claims of the user, roles. */
import t from 'tap';
import { mapClaims, mergeMappedRoles } from '../../../src/auth/providers/claims.ts';
import { parseProvider, toProvider } from '../../../src/auth/providers/provider.ts';

const provider = (mapping: object) =>
  toProvider(
    parseProvider(
      { name: 'acme', kind: 'oidc', clientId: 'c', issuer: 'https://id.example.org', mapping },
      null,
      () => null,
    ).written,
    {},
    'v',
  );

t.test('a mapping takes fields by the name of a claim or by a JSON Pointer', async (t) => {
  const mapping = { profile: { name: 'name', picture: '/picture/data/url' }, claims: { tenant: 'https://x.org/tid' } };
  const claims = { name: 'Ann', picture: { data: { url: 'https://p.example.org/1' } }, 'https://x.org/tid': 't1' };
  t.match(mapClaims(provider(mapping), claims), {
    profile: { name: 'Ann', picture: 'https://p.example.org/1' },
    claims: { tenant: 't1' },
    roles: [],
  });
});

t.test('a mapping drops objects, and values that are missing or too large', async (t) => {
  const mapping = { profile: { a: 'a', b: 'b', c: 'c', d: 'd', e: 'e', f: 'toString' } };
  const claims = { a: { x: 1 }, b: null, c: 'x'.repeat(5_000), d: ['x', 1, true], e: [{}] };
  t.strictSame(mapClaims(provider(mapping), claims).profile, { d: ['x', 1, true] });
  const many = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, 'x'.repeat(4_000)]));
  const sum = mapClaims(provider({ claims: { a: 'a', b: 'b', c: 'c' } }), many).claims;
  t.strictSame(Object.keys(sum), ['a', 'b']);
});

t.test('mapped roles come only from listed values, and those granted by hand stay', async (t) => {
  const roles = { claim: 'groups', values: { eng: ['author', 'editor'], ops: ['editor', 'admin'] } };
  const mapped = mapClaims(provider({ roles }), { groups: ['eng', 'owner', 'constructor'] });
  t.strictSame(mapped.roles, ['author', 'editor']);
  t.strictSame(mergeMappedRoles(['by-hand', 'admin'], mapped), ['by-hand', 'author', 'editor']);
  t.strictSame(mergeMappedRoles(['author'], mapClaims(provider({ roles }), {})), []);
  t.strictSame(mapClaims(provider({ roles }), { groups: 'ops' }).roles, ['editor', 'admin']);
  t.strictSame(mergeMappedRoles(['author'], mapClaims(provider({}), { groups: 'eng' })), ['author']);
});
