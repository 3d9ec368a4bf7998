/** Reports about live queries of the client in browsers. */
import assert from 'node:assert/strict';
import { createClient, type LiveState } from '../../client/client.ts';
import { until } from '../helpers/until.ts';
import type { Report } from './report.ts';

const AT_ONCE_MS = 1_000;

interface Item {
  readonly id: string;
}

export const reports: readonly Report[] = [
  {
    point: 'A8',
    title: 'A live query is offline and live again within a second of what the browser reports about its network.',
    async run({ url, admin, call }) {
      const [network, page] = [new EventTarget(), Object.assign(new EventTarget(), { visibilityState: 'visible' })];
      const navigator = { onLine: true };
      const browser = {
        addEventListener: network.addEventListener.bind(network),
        removeEventListener: network.removeEventListener.bind(network),
        document: page,
      };
      const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
      Object.assign(globalThis, browser);
      Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true });
      const client = createClient(url, { token: admin });
      try {
        let state: LiveState<Item> | undefined;
        client.collection<Item>('followed').live({}, (next) => {
          state = next;
        });
        const shows = (status: string, ids: readonly string[]) => {
          const same = () =>
            state?.status === status && String(state.documents.map(({ id }) => id).sort()) === String(ids);
          return until(same, `${status} with ${ids.join()}`);
        };
        await shows('live', []);
        const expected: string[] = [];
        for (const [back, source] of [
          ['online', network],
          ['visibilitychange', page],
        ] as const) {
          navigator.onLine = false;
          network.dispatchEvent(new Event('offline'));
          assert.ok((await shows('offline', expected)) < AT_ONCE_MS, 'offline');
          expected.push(back);
          expected.sort();
          assert.equal((await call('POST', '/api/followed', { body: { id: back } })).status, 201);
          navigator.onLine = true;
          source.dispatchEvent(new Event(back));
          assert.ok((await shows('live', expected)) < AT_ONCE_MS, `live after ${back}`);
        }
      } finally {
        client.close();
        for (const name of Object.keys(browser)) Reflect.deleteProperty(globalThis, name);
        if (before !== undefined) Object.defineProperty(globalThis, 'navigator', before);
      }
    },
  },
];
