/** Reports about what the dashboard shows, as far as it can be seen over HTTP. */
import { deepEqual, equal, throws } from 'node:assert/strict';
import { resolve } from 'node:path';
import { decodeText } from '../../dashboard/src/pages/data/transfer/decode-text.ts';
import { firstPlan, formatOf, readContent, toDocument } from '../../dashboard/src/pages/data/transfer/read-file.ts';
import { expect } from './identity.ts';
import type { Product, Report } from './report.ts';

/** What the matrix of policies asks about files, and what it shows. */
async function matrixOfFiles({ call, mode }: Product): Promise<void> {
  const policy = {
    name: 'Single files',
    resources: ['_files'],
    actions: ['get'],
    effect: 'allow',
    principals: { roles: ['reader'] },
  };
  await expect(call('POST', '/admin/policies', { body: policy }), 201);
  const principal = { kind: 'user', id: 'role:reader', roles: ['reader'] } as const;
  const actions = ['get', 'read', 'create', 'update', 'delete'];
  const cases = actions.map((action) => ({ principal, action, resource: '_files', expect: 'allow' }));
  const { failed } = await expect(call('POST', '/admin/policies/check', { body: { cases } }), 200);
  const denied = new Set(failed.map(({ index }: { index: number }) => actions[index]));
  // In development mode a policy allows everything.
  deepEqual([...denied], mode === 'development' ? [] : ['read', 'create', 'update', 'delete']);
  const user = { username: 'profiled', password: 'nine small green lamps', profile: { city: 'Köln', tags: ['a'] } };
  const { id } = await expect(call('POST', '/admin/users', { body: user }), 201);
  deepEqual((await expect(call('GET', `/admin/users/${id}`), 200)).profile, user.profile);
}

async function importedFiles({ call }: Product): Promise<void> {
  const text = 'name;city\r\nZoë;“Köln” €\r\n';
  const legacy = Buffer.from(text.replace('“', '\x93').replace('”', '\x94').replace('€', '\x80'), 'latin1');
  const wide = Buffer.from(text, 'utf16le');
  const files = [
    Buffer.from(text),
    Buffer.from(`\ufeff${text}`),
    wide,
    Buffer.from(`\ufeff${text}`, 'utf16le'),
    Buffer.from(wide).swap16(),
    legacy,
  ];
  for (const bytes of files) {
    const decoded = decodeText(bytes);
    const { rows, columns } = readContent(decoded.text, formatOf('people.csv', decoded.text));
    const body = rows.map((row) => toDocument(row, firstPlan(columns)));
    const stored = await expect(call('POST', '/api/imported', { body }), 201);
    deepEqual([stored[0].name, stored[0].city], ['Zoë', '“Köln” €'], decoded.encoding);
  }
  const others = ['\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'PK\x03\x04\x14\0\x06\0', '\xff\xfe\x00', '\x1f\x8b\x08\0'];
  for (const bytes of others) throws(() => decodeText(Buffer.from(bytes, 'latin1')), /not text/);
}

export const reports: readonly Report[] = [
  {
    point: 'E3',
    title: 'The settings name the data folder of an embedded database, and none beside another one.',
    async run(product) {
      const { body } = await product.call('GET', '/admin/settings/effective');
      equal(body.database.dataDir, body.database.embedded ? resolve(product.folder) : null);
    },
  },
  {
    point: 'E4',
    title: 'The matrix asks for reading a single file, and accounts come with their profiles.',
    run: matrixOfFiles,
  },
  {
    point: 'E6',
    title: 'Files of spreadsheets are imported in their encoding, and what is not text is refused.',
    run: importedFiles,
  },
  {
    point: 'E7',
    title: 'A refresh returns the user as a sign-in does.',
    async run(product) {
      const credentials = { username: 'refresher', password: 'nine small green lamps' };
      await product.call('POST', '/admin/users', { body: credentials });
      const { body: session } = await product.call('POST', '/auth/login', { body: credentials, token: null });
      const { refreshToken } = session;
      const renewed = await product.call('POST', '/auth/refresh', { body: { refreshToken }, token: null });
      deepEqual(renewed.body.user, session.user);
    },
  },
];
