/**
 * The connections of outgoing calls, kept for the next call to the same server. Loads undici; egress.ts loads this file with
 * the first call. Not here: what may be called (target.ts, reach.ts), and the calls (egress.ts).
 */
import { Agent, type Dispatcher, Pool } from 'undici';
import { Connection, type ConnectionOptions } from './connection.ts';
import { type AddressLookup, guardedConnector, systemLookup } from './connector.ts';
import type { Reach } from './reach.ts';
import { RepeatHandler } from './repeat.ts';

export interface AgentOptions {
  readonly reach: Reach;
  /** Finds the addresses of names; the operating system does where it is undefined. */
  readonly lookup: AddressLookup | undefined;
  /** Connections to one server at one time. */
  readonly maxConnections: number;
  /** Ends all connections. */
  readonly end: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 16_384;
/** A connection is kept that long for the next call. Many servers close theirs after five seconds, some after two. */
const KEPT_MS = 1_000;

/** @param options bodies of requests are texts or bytes, which can be sent again */
export function openAgent({ reach, lookup = systemLookup, maxConnections, end }: AgentOptions): Agent {
  const options = {
    connect: guardedConnector({ reach, lookup, timeoutMs: CONNECT_TIMEOUT_MS, end }),
    // Otherwise the first connection by TLS is waited for before a second one is begun.
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEPT_MS,
    keepAliveMaxTimeout: KEPT_MS,
    // egress.ts bounds the whole call with one clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  return new RepeatingAgent(options, maxConnections);
}

class RepeatingAgent extends Agent {
  readonly #options: ConnectionOptions;

  constructor(options: ConnectionOptions, connections: number) {
    const connection = (origin: string | URL) => new Connection(origin, options);
    super({ factory: (origin) => new Pool(origin, { ...options, connections, factory: connection }) });
    this.#options = options;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, new RepeatHandler(handler, () => this.#sendAnew(options, handler)));
  }

  /** By a connection that is closed after the call. */
  #sendAnew(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const once = new Connection(String(options.origin), this.#options);
    once.dispatch(options, handler);
    void once.close();
  }
}
