/**
 * Mends the driver (7.9.0) when it is imported, for commands that are sent while the server closes their connection.
 * Between the end of a socket and its event `close`, which comes a phase of the event loop later, the driver takes
 * the connection for open. A write is refused then. The driver takes that for a full buffer and waits for the event `drain` or
 * `error` of the socket: the command never came back, or failed with an error of Node that is not repeated. Here the socket of a
 * connection that is given up emits `drain`. The driver goes on, finds that the connection has failed, and treats the command like
 * any other whose connection was lost.
 */
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';

/** The part of the driver's class for a connection that is needed here. */
interface Connection {
  readonly socket: EventEmitter;
  /** Gives the connection up; called when it has failed or closed, often more than once. */
  cleanup(error: Error): void;
}

// The driver does not export the class.
const { Connection }: { Connection: { prototype: Connection } } = createRequire(import.meta.url)(
  'mongodb/lib/cmap/connection.js',
);
const { prototype } = Connection;
const { cleanup } = prototype;
prototype.cleanup = function (error) {
  cleanup.call(this, error);
  this.socket.emit('drain');
};
