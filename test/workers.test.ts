/** How many workers serve, what each may use, and when one that ended starts again. */
import t from 'tap';
import { loadConfig } from '../src/config/config.ts';
import { configOfWorker, nextDelay, workerCount } from '../src/workers.ts';

const MONGODB_URL = 'mongodb://127.0.0.1:27017/?replicaSet=rs0';

t.test('there is one process, unless a setting or production with an external MongoDB asks for more', async (t) => {
  t.equal(workerCount(loadConfig({})), 1);
  t.equal(workerCount(loadConfig({ MONGODB_URL })), 1, 'development');
  t.equal(workerCount(loadConfig({ MILLRACE_MODE: 'production' })), 1, 'the embedded MongoDB');
  t.equal(workerCount(loadConfig({ MILLRACE_WORKERS: '3' })), 3);
  const count = workerCount(loadConfig({ MILLRACE_MODE: 'production', MONGODB_URL }));
  t.ok(count >= 1 && count <= 4);
});

t.test('limits of the deployment are divided by the workers', async (t) => {
  const config = loadConfig({ MILLRACE_MODE: 'production', MILLRACE_MAX_MEMORY_BYTES_ALL_CLIENTS: '100000000' });
  const { database, server, held, realtime } = configOfWorker(config, 2);
  t.equal(database.maxConnections, config.database.maxConnections / 2);
  t.strictSame(server.rate, { anonymous: 300, principal: 3_000 });
  t.equal(server.connectionsPerAddress, config.server.connectionsPerAddress / 2);
  t.strictSame(held, { bytes: 50_000_000, bytesPerClient: null });
  t.equal(realtime.maxClients, config.realtime.maxClients / 2);
  const unlimited = configOfWorker(loadConfig({}), 2).server.rate;
  t.strictSame(unlimited, { anonymous: null, principal: null });
});

t.test('a worker that served starts again at once, one that ends early waits longer each time', async (t) => {
  t.equal(nextDelay({ livedMs: 60_000, hasServed: true, lastDelayMs: 8_000 }), 0);
  const delays = [0];
  for (let starts = 0; starts < 8; starts++)
    delays.push(nextDelay({ livedMs: 1_000, hasServed: false, lastDelayMs: delays.at(-1) ?? 0 }));
  t.strictSame(delays, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  t.equal(nextDelay({ livedMs: 60_000, hasServed: false, lastDelayMs: 0 }), 500, 'one that never served');
});
