/**
 * A proxy between a client and a server on this machine, whose connections can be broken at any time and allowed again.
 */
import { connect, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

export interface Line {
  readonly port: number;
  /** Breaks every connection and rejects new ones. */
  cut(): void;
  fix(): void;
}

export async function breakable(t: Pick<Test, 'teardown'>, port: number): Promise<Line> {
  const open = new Set<Socket>();
  let whole = true;
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
  };
  const cut = () => {
    whole = false;
    for (const socket of open) socket.destroy();
  };
  const server = createServer((near) => {
    keep(near);
    if (!whole) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    keep(far);
    near.pipe(far).pipe(near);
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    cut();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The line has no port');
  return {
    port: address.port,
    cut,
    fix: () => {
      whole = true;
    },
  };
}
