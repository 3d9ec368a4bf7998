/**
 * Loopback ports: finding a free one and waiting until a server listens on it.
 */
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { MillraceError } from '../../lib/errors.ts';

const POLL_MS = 20;

/** A loopback port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string')
    throw new MillraceError('internal', 'The system returned no port.');
  return address.port;
}

/** Waits until something listens on the port. @throws the signal's reason if the signal aborts first */
export async function waitForPort(port: number, limit: AbortSignal): Promise<void> {
  while (!(await accepts(port))) {
    limit.throwIfAborted();
    await delay(POLL_MS);
  }
}

async function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
