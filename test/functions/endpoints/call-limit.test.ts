/** Concurrent calls are limited, in total and per client, and clients take turns. */
import t from 'tap';
import { CallConcurrencyLimiter } from '../../../src/functions/endpoints/endpoint-calls.ts';
import { until } from '../../helpers/until.ts';

t.test('Concurrent calls are limited, and fair between clients.', async (t) => {
  const slots = new CallConcurrencyLimiter({ running: 2, runningPerClient: 1, held: 5, heldPerClient: 3 });
  const running: string[] = [];
  const ends: (() => void)[] = [];
  const call = (client: string) =>
    slots.run(client, () => {
      running.push(client);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const calls = [call('a'), call('a'), call('a'), call('b')];
  t.strictSame(running, ['a', 'b'], 'one of each');
  await t.rejects(call('a'), { code: 'rate-limited', headers: { 'retry-after': '1' } });
  calls.push(call('c'));
  await t.rejects(call('d'), { code: 'overloaded', headers: { 'retry-after': '1' } });
  ends[0]?.();
  await until(() => running.length === 3, 'the next runs');
  const order = [...running];
  for (let n = 1; n < 5; n++) {
    await until(() => ends.length > n, 'the next runs');
    ends[n]?.();
  }
  await Promise.all(calls);
  t.strictSame(order.slice(0, 2), ['a', 'b']);
  t.strictSame([...running].sort(), ['a', 'a', 'a', 'b', 'c']);
  t.ok(running.indexOf('c') < running.lastIndexOf('a'), 'who waits for the first time is not last');
  const next = call('a');
  ends[5]?.();
  await next;
  await t.rejects(
    slots.run('a', () => Promise.reject(new Error('no'))),
    { message: 'no' },
  );
  const after = call('a');
  ends[6]?.();
  await after;
});
