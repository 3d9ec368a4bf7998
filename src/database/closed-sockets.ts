/**
 * Mends the driver (7.9.0): a command could wait for ever when its connection was just closed by the server. Between the end of a
 * connection and the event `close`, which comes a phase of the event loop later, the driver still takes the connection for open.
 * A write is refused then, and the driver takes that for a full buffer: it waits for the event `drain`, which a closed socket never
 * sends. Here each socket that closes sends it. The driver goes on, finds the connection closed, and fails the command.
 */
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';

/** The part of the driver's class for a connection that is needed here. */
interface Connection {
  readonly socket: EventEmitter;
  /** Handles the event `close` of the socket. */
  onClose(): void;
}

// The driver does not export the class.
const { Connection }: { Connection: { prototype: Connection } } = createRequire(import.meta.url)(
  'mongodb/lib/cmap/connection.js',
);
let isMended = false;

/** Mends all connections that are made from now on. */
export function mendConnections(): void {
  if (isMended) return;
  isMended = true;
  const { prototype } = Connection;
  const { onClose } = prototype;
  prototype.onClose = function () {
    onClose.call(this);
    this.socket.emit('drain');
  };
}
