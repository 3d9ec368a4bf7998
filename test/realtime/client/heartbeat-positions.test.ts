/** A ping's position is that of every live subscription: while they stand at different places, it waits for a while. */
import t from 'tap';
import { Client } from '../../../src/realtime/client/client.ts';
import { DocumentSubscription } from '../../../src/realtime/subscription/document-subscription.ts';
import { SendQueue } from '../../../src/realtime/wire/send-queue.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { unbounded } from '../../helpers/unbounded.ts';

const HEARTBEAT_MS = 1_000;

/** A client without a line that keeps what it is told. */
class Silent extends Client {
  readonly told: unknown[] = [];
  protected readonly credential = null;
  protected readonly answers = true;
  protected look(): void {}
  protected shut(): void {}

  protected tell(type: string, { position }: Readonly<Record<string, unknown>>): void {
    this.told.push(`${type} ${position}`);
  }

  /** Subscriptions that stand at these numbers; null for one that is not live. */
  stand(...standings: readonly (number | null)[]): void {
    this.subscriptions.clear();
    for (const [index, standing] of standings.entries()) {
      const properties = { standing: { value: standing }, scopeUntil: { value: null } };
      this.subscriptions.set(`s${index}`, Object.create(DocumentSubscription.prototype, properties));
    }
  }
}

t.test('positions of pings', async (t) => {
  const { parts } = await buildTestApp(t, { MILLRACE_HEARTBEAT_MS: String(HEARTBEAT_MS) });
  const common = parts.realtime.parts;
  const hub = Object.create(common.hub, { position: { value: { epoch: 1, number: 20, time: null } } });
  const line = { writableLength: 0, writable: true, cork: () => {}, uncork: () => {}, write: () => true, on: () => {} };
  const client = new Silent({ ...common, hub }, new SendQueue(line, common.turns, unbounded()));
  client.principal = { kind: 'anonymous' };
  const start = performance.now();

  client.stand(20, 49);
  client.tick(start + HEARTBEAT_MS - 100);
  client.tick(start + HEARTBEAT_MS + 100);
  t.strictSame(client.told, [], 'one was live before the batch that is being told, the other one after it');
  client.stand(49, 49, null);
  client.tick(start + HEARTBEAT_MS + 100);
  t.strictSame(client.told, ['ping 1-49'], 'never before what a live subscription has been told');
  client.stand(60, 61);
  client.tick(start + HEARTBEAT_MS * 1.5);
  t.strictSame(client.told, ['ping 1-49', 'ping 1-60'], 'silence does not last');
  client.stand();
  client.tick(start + HEARTBEAT_MS * 2);
  t.strictSame(client.told.at(-1), 'ping 1-20', 'who has no subscription hears of the place of all');
});
