/**
 * Makes the connections of outgoing calls, and only to addresses that may be reached. An address is judged at the moment of
 * the connection, because a name may lead to another address than it did before (DNS rebinding). Not here: which addresses
 * may be reached (reach.ts).
 */
import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { egressError } from './egress-error.ts';
import { isLocalhost, LOCALHOST, type Reach } from './reach.ts';

/** All addresses of a host. @throws as `dns.lookup` does, with its codes */
export type AddressLookup = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/**
 * The addresses that the operating system knows, `hosts` file included. The names of this machine have both its addresses
 * (RFC 6761 section 6.3), although many systems know only one of them, or none of `app.localhost`.
 */
export const systemLookup: AddressLookup = async (host) =>
  isLocalhost(host) ? LOCALHOST.map((address) => ({ address, family: isIP(address) })) : lookUp(host, { all: true });

export interface ConnectorOptions {
  readonly reach: Reach;
  readonly lookup: AddressLookup;
  /** For looking up the name, connecting, and agreeing on TLS together, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends all connections, those too that are being made: undici itself would wait for these. */
  readonly end: AbortSignal;
}

export function guardedConnector({ reach, lookup, timeoutMs, end }: ConnectorOptions): buildConnector.connector {
  const find = oncePerHost(lookup);
  const made = (secure: boolean) =>
    buildConnector({
      // The size of headers is bounded in HTTP/1.1 alone.
      allowH2: false,
      timeout: timeoutMs,
      autoSelectFamily: true,
      signal: end,
      lookup: vetted(find, (address) => reach(address, secure)),
    });
  const [plain, tls] = [made(false), made(true)];
  return (options, callback) => {
    const { protocol, hostname } = options;
    const secure = protocol === 'https:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const blocked = () => callback(egressError('blocked-address', `${protocol}//${hostname}`), null);
    // Node looks no address up, so `vetted` would not see it.
    if (isIP(host) > 0 && !reach(host, secure)) return blocked();
    return (secure ? tls : plain)(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (reach(socket.remoteAddress ?? '', secure)) return callback(null, socket);
      socket.destroy();
      blocked();
    });
  };
}

/**
 * Looks a host up once at a time. `dns.lookup` keeps a thread of the pool that files and passwords need, too, until it ends: calls
 * to one host whose name server hangs would take all four of them.
 */
function oncePerHost(lookup: AddressLookup): AddressLookup {
  const underWay = new Map<string, ReturnType<AddressLookup>>();
  return (host) => {
    const known = underWay.get(host);
    if (known !== undefined) return known;
    const found = lookup(host).finally(() => underWay.delete(host));
    underWay.set(host, found);
    return found;
  };
}

/** A lookup for sockets, which get the addresses that may be reached and no others. */
function vetted(lookup: AddressLookup, mayReach: (address: string) => boolean): LookupFunction {
  return (host, { all }, callback) => {
    const answer = async () => {
      const found = (await lookup(host)).filter(({ address }) => mayReach(address));
      const [first] = found;
      if (first === undefined) throw egressError('blocked-address', host);
      return { found, first };
    };
    answer().then(
      ({ found, first }) => (all ? callback(null, [...found]) : callback(null, first.address, first.family)),
      (error) => callback(error, ''),
    );
  };
}
