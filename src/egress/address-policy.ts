/**
 * Which IP addresses outgoing calls may reach. In production: public ones over https, and the networks of
 * MILLRACE_EGRESS_ALLOW also over http. Development mode adds http everywhere, and this machine. Pure.
 */
import { isIP } from 'node:net';
import { networkMatcher } from '../config/addresses.ts';
import type { ServerMode } from '../config/config.ts';

/** Whether an IP address may be called. @param secure whether the call uses https */
export type AddressPolicy = (address: string, secure: boolean) => boolean;

/**
 * IPv4 addresses outside the public Internet (IANA IPv4 Special-Purpose Address Registry, RFC 6890), and one of Azure
 * that looks public but serves every virtual machine its own secrets, like 169.254.169.254 elsewhere.
 */
const SPECIAL_IPV4 = networkMatcher([
  '0.0.0.0/8', // this network (RFC 791)
  '10.0.0.0/8', // private (RFC 1918)
  '100.64.0.0/10', // carriers (RFC 6598)
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local and cloud metadata (RFC 3927)
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocols (RFC 6890)
  '192.0.2.0/24', // documentation (RFC 5737)
  '192.88.99.0/24', // 6to4 relays (RFC 7526)
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks (RFC 2544)
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast (RFC 5771)
  '240.0.0.0/4', // class E and broadcast (RFC 1112)
  '168.63.129.16',
]);

/**
 * The one range of public IPv6 (RFC 4291 section 2.4). Outside it are loopback, link-local, unique local, multicast,
 * and all ranges that embed an IPv4 address: mapped, compatible (::/96) and NAT64 (64:ff9b::/96).
 */
const GLOBAL_IPV6 = networkMatcher(['2000::/3']);
const SPECIAL_IPV6 = networkMatcher([
  '2001::/23', // protocols and Teredo (RFC 2928, RFC 4380)
  '2001:db8::/32', // documentation (RFC 3849)
  '2002::/16', // 6to4, embeds an IPv4 address (RFC 3056)
  '3fff::/20', // documentation (RFC 9637)
]);
const LOOPBACK = networkMatcher(['127.0.0.0/8', '::1']);

/** Both IP addresses of the names of this machine. */
export const LOCALHOST = ['127.0.0.1', '::1'] as const;

/** Whether a host is a name of this machine (RFC 6761 section 6.3), in lower case. */
export function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** @param allow networks that may always be reached, each an IP address or as `10.0.0.0/8` */
export function createAddressPolicy(mode: ServerMode, allow: readonly string[]): AddressPolicy {
  const allowed = networkMatcher(allow);
  return (address, secure) => {
    // A zone names an interface of this machine (RFC 4007 section 11).
    if (isIP(address) === 0 || address.includes('%')) return false;
    if (allowed(address)) return true;
    if (mode === 'development') return isPublic(address) || LOOPBACK(address);
    return secure && isPublic(address);
  };
}

function isPublic(address: string): boolean {
  return isIP(address) === 4 ? !SPECIAL_IPV4(address) : GLOBAL_IPV6(address) && !SPECIAL_IPV6(address);
}
