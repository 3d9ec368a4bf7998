/**
 * One connection of outgoing calls, which knows whether it was used before and whether anything has arrived on it
 * since.
 */
import type { Socket } from 'node:net';
import { type buildConnector, Client, type Dispatcher } from 'undici';

/** Records the connection of its request. */
export interface ConnectionTrackingHandler extends Dispatcher.DispatchHandler {
  /** Called before the request is sent, and again when it moves to another connection. */
  onConnection?(connection: ByteCountingConnection): void;
}

export interface ConnectionOptions extends Client.Options {
  readonly connect: buildConnector.connector;
}

export class ByteCountingConnection extends Client {
  #socket: Socket | null = null;

  constructor(origin: string | URL, options: ConnectionOptions) {
    const { connect } = options;
    super(origin, {
      ...options,
      connect: (to, done) =>
        connect(to, (...result) => {
          this.#socket = result[1];
          done(...result);
        }),
    });
  }

  /** Response bytes received on the current connection, or the last one: 0 before the first response. */
  get received(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: ConnectionTrackingHandler): boolean {
    handler.onConnection?.(this);
    return super.dispatch(options, handler);
  }
}
