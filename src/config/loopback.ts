/**
 * Host names and IP addresses that always mean this machine (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3; RFC
 * 4291).
 */

/** @param host a host name or an IP address; IPv6 with or without brackets */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** @param origin as browsers send it (RFC 6454, section 7) */
export function isLoopbackOrigin(origin: string): boolean {
  const host = /^https?:\/\/([^/:]+|\[[^\]]*\])(:\d{1,5})?$/.exec(origin)?.[1];
  return host !== undefined && isLoopback(host);
}
