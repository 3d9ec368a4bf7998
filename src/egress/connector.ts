/**
 * Opens the connections of outgoing calls, only to permitted IP addresses. The check runs when the connection is
 * opened, because a name may resolve to another IP address than before (DNS rebinding).
 */
import { lookup as lookUp } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AddressPolicy, isLocalhost, LOCALHOST } from './address-policy.ts';
import { egressError } from './egress-error.ts';

/** All IP addresses of a host. @throws as `dns.lookup` does, with its codes */
export type AddressLookup = (host: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/**
 * The IP addresses that the operating system knows, `hosts` file included. The names of this machine have both its
 * addresses (RFC 6761 section 6.3), although many systems know only one of them, or none of `app.localhost`.
 */
export const systemLookup: AddressLookup = async (host) =>
  isLocalhost(host) ? LOCALHOST.map((address) => ({ address, family: isIP(address) })) : lookUp(host, { all: true });

export interface ConnectorOptions {
  readonly addressPolicy: AddressPolicy;
  readonly lookup: AddressLookup;
  /** For name lookup, connecting and the TLS handshake together, in milliseconds. */
  readonly timeoutMs: number;
  /** Closes all connections, including those being opened: undici itself would wait for these. */
  readonly end: AbortSignal;
}

export function guardedConnector({
  addressPolicy,
  lookup,
  timeoutMs,
  end,
}: ConnectorOptions): buildConnector.connector {
  const find = oncePerHost(lookup);
  const created = (secure: boolean) =>
    buildConnector({
      // HTTP/2 would not bound the size of headers.
      allowH2: false,
      timeout: timeoutMs,
      autoSelectFamily: true,
      signal: end,
      lookup: vetted(find, (address) => addressPolicy(address, secure)),
    });
  const [plain, tls] = [created(false), created(true)];
  return (options, callback) => {
    const { protocol, hostname } = options;
    const secure = protocol === 'https:';
    const host = hostname.replace(/^\[|\]$/g, '');
    const blocked = () => callback(egressError('blocked-ip', `${protocol}//${hostname}`), null);
    // Node does not look up an IP address, so `vetted` would not be called.
    if (isIP(host) > 0 && !addressPolicy(host, secure)) return blocked();
    return (secure ? tls : plain)(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      if (addressPolicy(socket.remoteAddress ?? '', secure)) return callback(null, socket);
      socket.destroy();
      blocked();
    });
  };
}

/**
 * Runs one lookup of a host at a time. `dns.lookup` occupies a thread of the pool that files and passwords also need:
 * calls to one host whose name server hangs would occupy all four.
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

/** A lookup for sockets that returns only permitted IP addresses. */
function vetted(lookup: AddressLookup, isReachable: (address: string) => boolean): LookupFunction {
  return (host, { all }, callback) => {
    const response = async () => {
      const found = (await lookup(host)).filter(({ address }) => isReachable(address));
      const [first] = found;
      if (first === undefined) throw egressError('blocked-ip', host);
      return { found, first };
    };
    response().then(
      ({ found, first }) => (all ? callback(null, [...found]) : callback(null, first.address, first.family)),
      (error) => callback(error, ''),
    );
  };
}
