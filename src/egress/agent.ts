/**
 * Connections of outgoing calls, reused for the next call to the same server. Loads undici; egress.ts loads this file
 * with the first call.
 */
import { Agent, type Dispatcher, Pool } from 'undici';
import type { AddressPolicy } from './address-policy.ts';
import { ByteCountingConnection, type ConnectionOptions } from './byte-counting-connection.ts';
import { type AddressLookup, guardedConnector, systemLookup } from './connector.ts';
import { RetryHandler } from './stale-connection-retry.ts';

export interface AgentOptions {
  readonly addressPolicy: AddressPolicy;
  /** Resolves host names; the operating system does so where it is undefined. */
  readonly lookup: AddressLookup | undefined;
  /** Simultaneous connections to one server. */
  readonly maxConnections: number;
  /** Closes all connections. */
  readonly end: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 16_384;
/** How long an idle connection is kept. Many servers close theirs after five seconds, some after two. */
const RETENTION_MS = 1_000;

/** @param options request bodies are text or bytes, which can be sent again */
export function createEgressAgent({ addressPolicy, lookup = systemLookup, maxConnections, end }: AgentOptions): Agent {
  const options = {
    connect: guardedConnector({ addressPolicy, lookup, timeoutMs: CONNECT_TIMEOUT_MS, end }),
    // Otherwise undici waits for the first TLS connection before it opens a second one.
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: RETENTION_MS,
    keepAliveMaxTimeout: RETENTION_MS,
    // egress.ts bounds the whole call with one timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  return new RepeatingAgent(options, maxConnections);
}

class RepeatingAgent extends Agent {
  readonly #options: ConnectionOptions;

  constructor(options: ConnectionOptions, connections: number) {
    const connection = (origin: string | URL) => new ByteCountingConnection(origin, options);
    super({ factory: (origin) => new Pool(origin, { ...options, connections, factory: connection }) });
    this.#options = options;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    return super.dispatch(options, new RetryHandler(handler, () => this.#sendAnew(options, handler)));
  }

  /** On a connection that is closed after the call. */
  #sendAnew(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const once = new ByteCountingConnection(String(options.origin), this.#options);
    once.dispatch(options, handler);
    void once.close();
  }
}
