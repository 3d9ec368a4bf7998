/** A server whose frames a test sends itself, and the states of a live query of the client. */
import { on } from 'node:events';
import type { Test } from 'tap';
import { WebSocketServer } from 'ws';
import type { LiveState } from '../../../client/client.ts';

interface Heard {
  readonly type: string;
  readonly id: string;
  readonly since?: string;
  readonly token?: string;
}

/** Accepts connections one after the other, and reads the messages of each in order. */
export async function stage(t: Test) {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, handleProtocols: () => 'millrace.v1' });
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => server.close());
  const comers = on(server, 'connection');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async next() {
      const [socket] = (await comers.next()).value ?? [];
      const messages = on(socket, 'message');
      return {
        say: (frame: object) => socket.send(JSON.stringify(frame)),
        close: (code: number) => socket.close(code),
        hear: async (): Promise<Heard> => JSON.parse(String((await messages.next()).value?.[0])),
      };
    },
  };
}

export const welcome = (id: string | null) => ({
  type: 'welcome',
  principal: id === null ? { kind: 'anonymous' } : { kind: 'user', id },
  heartbeatMs: 25_000,
});

export function response(id: string, position: string) {
  return [
    { type: 'subscribed', id, from: 'snapshot' },
    { type: 'snapshot', id, documents: [], sortKey: [], last: true, position },
    { type: 'live', id, position },
  ];
}

export function states() {
  const seen: LiveState<unknown>[] = [];
  let wake = () => {};
  return {
    report: (state: LiveState<unknown>) => {
      seen.push(state);
      wake();
    },
    async until(status: string) {
      while (seen.at(-1)?.status !== status) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return seen.at(-1);
    },
  };
}
