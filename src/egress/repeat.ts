/**
 * Repeats a request, once and at once, that was sent on a kept connection just when its server closed that. The server has
 * sent no byte of a response, and most probably never read the request (RFC 9112 section 9.3.1); browsers do the same. A request on
 * a new connection is not repeated.
 */
import type { Dispatcher } from 'undici';
import type { Connection, ConnectionHandler } from './connection.ts';

/** Codes of Node and undici for a connection that the other side has closed or reset. */
const CLOSED: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'ECONNABORTED', 'EPIPE']);

export class RepeatHandler implements ConnectionHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #repeat: () => void;
  #connection: Connection | null = null;
  /** What had arrived by the connection before the request was sent. */
  #receivedBefore = 0;

  /** @param repeat sends the request again, by a new connection, with the handler that was given here */
  constructor(handler: Dispatcher.DispatchHandler, repeat: () => void) {
    this.#handler = handler;
    this.#repeat = repeat;
  }

  onConnection(connection: Connection): void {
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
