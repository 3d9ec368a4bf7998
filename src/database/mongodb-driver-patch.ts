/**
 * Patches the driver (7.9.0) on import, for commands that are sent while the server closes their connection. Between
 * the end of a socket and its event `close`, one phase of the event loop later, the driver treats the socket as open. A
 * write fails then. The driver takes that for a full buffer and waits for the event `drain` or `error` of the socket:
 * the command never returned, or failed with an error of Node that is not retried. With this patch the socket of an
 * abandoned connection emits `drain`. The driver continues, finds that the connection has failed, and treats the
 * command like any other whose connection was lost.
 */
import type { EventEmitter } from 'node:events';
// @ts-expect-error: the driver exports neither the class nor its types.
import { Connection as DriverConnection } from 'mongodb/lib/cmap/connection.js';

/** The used part of the driver's class for a connection. */
interface Connection {
  readonly socket: EventEmitter;
  /** Abandons the connection; called when it has failed or closed, often more than once. */
  cleanup(error: Error): void;
}

const { prototype }: { prototype: Connection } = DriverConnection;
const { cleanup } = prototype;
prototype.cleanup = function (error) {
  cleanup.call(this, error);
  this.socket.emit('drain');
};
