/** A ping's position is that of every live subscription: while their positions differ, it waits for a while. */
import t from 'tap';
import { RealtimeClient } from '../../../src/realtime/client/realtime-client.ts';
import { CollectionSubscription } from '../../../src/realtime/subscription/collection-subscription.ts';
import { SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const HEARTBEAT_MS = 1_000;

/** A client without a connection that records what it receives. */
class Silent extends RealtimeClient {
  readonly reported: unknown[] = [];
  protected readonly credential = null;
  protected readonly answersHeartbeats = true;
  protected checkTimeouts(): void {}
  protected closeConnection(): void {}

  protected report(type: string, { position }: Readonly<Record<string, unknown>>): void {
    this.reported.push(`${type} ${position}`);
  }

  /** Subscriptions at these numbers; null for one that is not live. */
  logCursor(...standings: readonly (number | null)[]): void {
    this.subscriptions.clear();
    for (const [index, standing] of standings.entries()) {
      const properties = { deliveredPosition: { value: standing }, scopeUntil: { value: null } };
      this.subscriptions.set(`s${index}`, Object.create(CollectionSubscription.prototype, properties));
    }
  }
}

t.test('a ping contains the common position of all live subscriptions', async (t) => {
  const { services } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: String(HEARTBEAT_MS) });
  const common = services.realtime.deps;
  const hub = Object.create(common.hub, { position: { value: { epoch: 1, number: 20, time: null } } });
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, write: () => true, on: () => {} };
  const client = new Silent({ ...common, hub }, new SendQueue(line, common.flushScheduler, unbounded()));
  client.principal = { kind: 'anonymous' };
  const start = performance.now();

  client.logCursor(20, 49);
  client.tick(start + HEARTBEAT_MS - 100);
  client.tick(start + HEARTBEAT_MS + 100);
  t.strictSame(client.reported, [], 'one was live before the current batch, the other one after it');
  client.logCursor(49, 49, null);
  client.tick(start + HEARTBEAT_MS + 100);
  t.strictSame(client.reported, ['ping 1-49'], 'never before what a live subscription has received');
  client.logCursor(60, 61);
  client.tick(start + HEARTBEAT_MS * 1.5);
  t.strictSame(client.reported, ['ping 1-49', 'ping 1-60'], 'silence does not last');
  client.logCursor();
  client.tick(start + HEARTBEAT_MS * 2);
  t.strictSame(client.reported.at(-1), 'ping 1-20', 'a client without subscriptions gets the position of all');
});
