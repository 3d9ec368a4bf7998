/** Network events of a browser reach live queries immediately. */
import t from 'tap';
import { createClient } from '../../client/client.ts';
import { response, stage, states, welcome } from '../helpers/live/staged-server.ts';

t.test('A live query is offline as soon as the browser is, and live again with the network or the page.', async (t) => {
  const events = new EventTarget();
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const browser = {
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
    document: page,
  };
  Object.assign(globalThis, browser);
  t.teardown(() => {
    for (const name of Object.keys(browser)) Reflect.deleteProperty(globalThis, name);
  });
  const server = await stage(t);
  const client = createClient(server.url);
  t.teardown(() => client.close());
  const seen = states();
  client.collection('todos').live({}, seen.report);
  const goesLive = async (position: string) => {
    const line = await server.next();
    t.match(await line.hear(), { type: 'hello' });
    line.say(welcome(null));
    const { id } = await line.hear();
    for (const frame of response(id, position)) line.say(frame);
    await seen.until('live');
  };
  await goesLive('1-5');
  for (const [source, type] of [
    [events, 'online'],
    [page, 'visibilitychange'],
  ] as const) {
    events.dispatchEvent(new Event('offline'));
    t.equal((await seen.until('offline'))?.status, 'offline');
    const started = performance.now();
    source.dispatchEvent(new Event(type));
    await goesLive('1-6');
    t.ok(performance.now() - started < 1_000, `it is live again at once after ${type}`);
  }
});
