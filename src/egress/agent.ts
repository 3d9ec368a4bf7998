/**
 * The connections of outgoing calls, kept for the next call to the same server. Loads undici; egress.ts loads this file with
 * the first call. Not here: what may be called (target.ts, reach.ts), and the calls (egress.ts).
 */
import { Agent } from 'undici';
import { type AddressLookup, guardedConnector, systemLookup } from './connector.ts';
import type { Reach } from './reach.ts';

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
/** A connection is kept that long for the next call; servers usually close theirs after five seconds. */
const KEPT_MS = 4_000;

export function openAgent({ reach, lookup = systemLookup, maxConnections, end }: AgentOptions): Agent {
  return new Agent({
    connect: guardedConnector({ reach, lookup, timeoutMs: CONNECT_TIMEOUT_MS, end }),
    connections: maxConnections,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEPT_MS,
    keepAliveMaxTimeout: KEPT_MS,
    // egress.ts bounds the whole call with one clock.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
