/**
 * Retries a request once, immediately, that was sent on a kept connection just as its server closed it. The server has
 * sent no byte of a response, and most probably never read the request (RFC 9112 section 9.3.1); browsers do the same.
 * A request on a new connection is not retried.
 */
import type { Dispatcher } from 'undici';
import type { ByteCountingConnection, ConnectionTrackingHandler } from './byte-counting-connection.ts';

/** Node and undici error codes for a connection that the other side has closed or reset. */
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNABORTED', 'EPIPE']);

export class RetryHandler implements ConnectionTrackingHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #repeat: () => void;
  #connection: ByteCountingConnection | null = null;
  /** Bytes received on the connection before the request was sent. */
  #receivedBefore = 0;

  /** @param repeat sends the request again, on a new connection, with the given handler */
  constructor(handler: Dispatcher.DispatchHandler, repeat: () => void) {
    this.#handler = handler;
    this.#repeat = repeat;
  }

  onConnection(connection: ByteCountingConnection): void {
    this.#connection = connection;
  }

  onRequestStart(...given: Parameters<Required<Dispatcher.DispatchHandler>['onRequestStart']>): void {
    this.#receivedBefore = this.#connection?.received ?? 0;
    this.#handler.onRequestStart?.(...given);
  }

  onResponseStart(...given: Parameters<Required<Dispatcher.DispatchHandler>['onResponseStart']>): void {
    this.#handler.onResponseStart?.(...given);
  }

  onResponseData(...given: Parameters<Required<Dispatcher.DispatchHandler>['onResponseData']>): void {
    this.#handler.onResponseData?.(...given);
  }

  onResponseEnd(...given: Parameters<Required<Dispatcher.DispatchHandler>['onResponseEnd']>): void {
    this.#handler.onResponseEnd?.(...given);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    const code = 'code' in error ? String(error.code) : '';
    const isReused = this.#receivedBefore > 0 && this.#connection?.received === this.#receivedBefore;
    if (isReused && CLOSED.has(code) && controller?.aborted !== true) this.#repeat();
    else this.#handler.onResponseError?.(controller, error);
  }
}
