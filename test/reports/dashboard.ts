/** Reports about what the dashboard shows, as far as it can be seen over HTTP. */
import { deepEqual, equal } from 'node:assert/strict';
import { resolve } from 'node:path';
import type { Report } from './report.ts';

export const reports: readonly Report[] = [
  {
    point: 'E3',
    title: 'The settings name the data folder of an embedded database, and none beside another one.',
    async run(product) {
      const { body } = await product.call('GET', '/admin/settings/effective');
      equal(body.database.folder, body.database.embedded ? resolve(product.folder) : null);
    },
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
