/** Shutting down while the database does not respond. */
import t from 'tap';
import { dataFolder } from '../helpers/database/embedded-program.ts';
import { type Member, testReplicaSet } from '../helpers/database/replica-set.ts';
import { startMillrace } from '../helpers/programs/millrace.ts';

const { url, primary } = await testReplicaSet(t);

// In this order: the second case ends the database that both use.
for (const [how, leave] of [
  ['answers nothing', async (member: Member) => member.freeze()],
  ['has gone', (member: Member) => member.kill()],
] as const) {
  t.test(`SIGTERM ends the program also while the database ${how}`, { timeout: 60_000 }, async (t) => {
    const env = { MONGODB_URL: url, MILLRACE_SHUTDOWN_TIMEOUT_MS: '1000' };
    const program = await startMillrace(t, { folder: await dataFolder(t), env });
    const member = await primary();
    t.teardown(() => member.thaw());
    await leave(member);
    const waiting = fetch(`${program.url}/api/todos`).catch(() => null);
    const reported = performance.now();
    t.equal(await program.end('SIGTERM'), 0);
    t.ok(performance.now() - reported < 15_000, 'before the supervisor kills it');
    await waiting;
  });
}
