/** A server that receives deliveries and records them, one path for each endpoint. Its responses can be chosen. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { Event } from '../../../src/events/log/event.ts';

export interface ReceivedEvent {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly event: Event & { readonly truncated?: boolean; readonly url?: string | null };
}

export interface EventReceiver {
  readonly url: string;
  readonly received: readonly ReceivedEvent[];
  /** What a path received, in order of arrival. */
  at(path: string): readonly ReceivedEvent[];
  /** The status of responses; 204 at first. */
  response: (received: ReceivedEvent) => number;
}

export async function openEventReceiver(t: Pick<Test, 'teardown'>): Promise<EventReceiver> {
  const received: ReceivedEvent[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const headers = request.headers as Record<string, string>;
      const one = { path: request.url ?? '', headers, text, event: JSON.parse(text) };
      received.push(one);
      response.writeHead(receiver.response(one)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const receiver: EventReceiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    at: (path) => received.filter((one) => one.path === path),
    response: () => 204,
  };
  return receiver;
}
