/** Rights change while an event subscription still reads what it missed: it completes nevertheless, and sends it. */
import t from 'tap';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { EventSubscription } from '../../../src/realtime/subscription/event-subscription.ts';
import { SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { unbounded } from '../../helpers/unbounded.ts';
import { until } from '../../helpers/until.ts';

t.test('an event subscription whose rights change while it resumes sends what it missed', async (t) => {
  const { services } = await buildTestApp(t);
  const { realtime } = services;
  const { feed } = realtime.deps;
  const rows: LogRow[] = [];
  t.teardown(services.events.tail.attach({ rows: (more) => rows.push(...more), lost: () => {} }));
  const find = () => rows.find(({ operation, collection }) => operation === 'insert' && collection === 'todos');
  await services.mongo.data.collection<{ _id: string }>('todos').insertOne({ _id: 'a' });
  await until(() => find() !== undefined, 'a row');
  const { epoch = 0, number = 0 } = find() ?? {};

  let said = '';
  const queue = new SendQueue(
    {
      writableLength: 0,
      writable: true,
      cork: () => {},
      uncork: () => {},
      on: () => {},
      write: (chunk) => {
        said += chunk.toString('latin1');
        return true;
      },
    },
    realtime.deps.flushScheduler,
    unbounded(),
  );
  const held: (() => void)[] = [];
  let looks = 0;
  const usable: typeof feed.usable = async (position) => {
    if (looks++ === 0) await new Promise<void>((resolve) => held.push(resolve));
    return await feed.usable(position);
  };
  const position = `${epoch}-${number - 1}`;
  const principal = { kind: 'anonymous' } as const;
  const subscription = new EventSubscription({
    id: 's',
    queue,
    deps: { ...realtime.deps, feed: { usable } },
    principal,
    onEnd: () => t.fail('it goes on'),
    onTooSlow: () => t.fail('it is not too slow'),
    request: { kind: 'events', id: 's', types: ['todos.*'], filter: {}, since: position, as: null },
  });
  subscription.start(position, 0);
  await until(() => held.length === 1, 'it looks for what it missed');
  subscription.rescope(principal);
  for (const go of held.splice(0)) go();
  await until(() => said.includes('"live"'), 'it is live');
  subscription.stop();
  t.match(said, /"subscribed".*"resume".*"documentId":"a".*"live"/s, 'missed events are sent between the two');
  t.equal(said.split('"subscribed"').length, 2, 'it is subscribed once');
});
