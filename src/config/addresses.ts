/** IP addresses and URLs of servers, proxies and clients, and the schemes of URLs that open an app. */
import { BlockList, isIP, isIPv6 } from 'node:net';

/** Names for ranges of trusted proxy addresses. */
const RANGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/** The URL of a server without a trailing slash; an origin has none. */
export function stripTrailingSlash(address: string): string {
  return address.replace(/\/$/, '');
}

/**
 * A listening address in its URL form: an IPv6 address in brackets, and without its zone, which a URL cannot contain.
 */
export function hostForUrl(host: string): string {
  return host.includes(':') ? `[${host.replace(/%.*/, '')}]` : host;
}

/**
 * The host of a `Host` header (RFC 9110 section 7.2) in the normal form of URLs: lower case, IPv6 shortened, without
 * its port and the dot that ends a complete name.
 * @returns null for an invalid host
 */
export function parseHostHeader(authority: string): string | null {
  if (!/^(?:[^\s/?#@\\:[\]]+|\[[\da-f:.]+\])(?::\d{0,5})?$/i.test(authority)) return null;
  const url = `http://${authority}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') : null;
}

/** Whether a setting is invalid, for checks that a pattern in the schema cannot express. */
export function isInvalidAddressSetting(setting: string, value: unknown): boolean {
  if (/^MILLRACE_(PUBLIC|SMTP|SVIX)_URL$/.test(setting)) return !URL.canParse(String(value));
  if (setting === 'HOST') return !URL.canParse(`http://${hostForUrl(String(value))}`);
  if (setting === 'MILLRACE_CORS_ORIGINS')
    return !String(value ?? '')
      .split(',')
      .every(isOrigin);
  if (setting === 'MILLRACE_EGRESS_ALLOW') return !String(value).split(',').every(isNetworkPart);
  return setting === 'MILLRACE_TRUST_PROXY' && !areProxies(String(value));
}

/** Whether a text is empty or an origin, in the exact spelling that browsers send. Apps have custom schemes. */
function isOrigin(part: string): boolean {
  const origin = stripTrailingSlash(part.trim());
  if (origin === '') return true;
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):\/\/[^/?#@*\s]+$/.exec(origin) ?? [];
  if (scheme === '' || !URL.canParse(origin)) return false;
  const url = new URL(origin);
  return /^https?$/.test(scheme) ? url.origin === origin : isAppScheme(scheme) && url.href === origin;
}

/**
 * Returns the test whether the IP address at the other end of a connection is a trusted proxy.
 * @param trusted the number of hops, or the IP addresses, that are trusted
 */
export function trustedProxyMatcher(trusted: number | readonly string[] | false): (address: string) => boolean {
  if (trusted === false || typeof trusted === 'number') return () => trusted !== false && trusted > 0;
  const proxies = new BlockList();
  for (const network of trusted.flatMap((part) => RANGES.get(part) ?? part)) addNetwork(proxies, network);
  return (address) => isIP(address) > 0 && proxies.check(address, familyOf(address));
}

/**
 * Returns the test whether an IP address is in one of the networks. An IPv4 address matches IPv4 networks only, and one
 * embedded in an IPv6 address is not extracted: a `BlockList` with both would find all of IPv4 in `::ffff:0:0/96`.
 * @param networks each an IP address or as `10.0.0.0/8`
 */
export function networkMatcher(networks: readonly string[]): (address: string) => boolean {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const network of networks) addNetwork(lists[familyOf(network.replace(/\/.*/, ''))], network);
  return (address) => isIP(address) > 0 && lists[familyOf(address)].check(address, familyOf(address));
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', bits] = network.split('/');
  const family = familyOf(address);
  list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
}

/**
 * The IP addresses of `X-Forwarded-For` in their plain form. Some gateways append the port of each connection (Azure,
 * IIS), so one client would look like another one with each connection. Everything to the left of a part that is no IP
 * address (`unknown`) is dropped: the proxy that wrote this part vouches for nothing beyond itself.
 * @returns undefined if no address is left
 */
export function forwardedAddresses(header: string): string | undefined {
  const addresses: string[] = [];
  for (const part of header.split(',').reverse()) {
    if (part.trim() === '') continue;
    const address = ipOf(part);
    if (address === null) break;
    addresses.push(address);
  }
  return addresses.length === 0 ? undefined : addresses.reverse().join(', ');
}

/**
 * An IP address without quotes, brackets, port and zone; an IPv4 address in an IPv6 one as IPv4.
 * @returns null for anything else
 */
function ipOf(text: string): string | null {
  const bare = text.trim().replace(/^"(.*)"$/, '$1');
  if (isIP(bare) === 4) return bare;
  const [, bracketed, beforePort] = /^(?:\[(.+)\](?::\d*)?|(.+):\d*)$/.exec(bare) ?? [];
  const address = (bracketed ?? (isIP(bare) === 0 ? beforePort : bare) ?? '').replace(/%.*$/, '');
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : null;
  const [, high = '', low = ''] =
    /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(new URL(`http://[${address}]`).hostname) ?? [];
  if (high === '') return address;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

/** Whether a text is a number of hops, or a list of proxies. */
function areProxies(text: string): boolean {
  return /^\d+$/.test(text) || text.split(',').every((part) => part.trim() === '' || isProxyAddress(part.trim()));
}

/** Whether a text is an IP address, a network such as `10.0.0.0/8`, or the name of a range. */
function isProxyAddress(text: string): boolean {
  return RANGES.has(text) || isNetwork(text);
}

/** Whether it is a comma-separated list of networks, or empty. */
function isNetworkPart(part: string): boolean {
  return part.trim() === '' || isNetwork(part.trim());
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}

/**
 * The network that counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address, because one customer
 * usually gets all 2^64 addresses that begin with them (RFC 4291 section 2.5.4).
 */
export function clientNetwork(address: string): string {
  // Only IPv6 has colons. Checked first, because this runs for each request, and the test for IPv6 is a long pattern.
  if (!address.includes(':')) return address;
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) {
    // Older versions stored the IP addresses of sessions with their ports.
    const plain = ipOf(address);
    return plain === null ? address : clientNetwork(plain);
  }
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => group.replace(/^0+(?=.)/, '')));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const gap = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: Math.max(0, gap) }, () => '0'), ...last].slice(0, 4).join(':');
}

/**
 * Schemes that browsers, mail programs and operating systems open themselves: as code, as data, as a file, or as a
 * message to write.
 */
const NOT_OF_APPS: ReadonlySet<string> = new Set(
  (
    'about android-app blob browser chrome chrome-error chrome-untrusted cid content data devtools edge file filesystem ftp ftps geo ' +
    'http https intent jar javascript ldap livescript magnet mailto mhtml mid mms mocha ms-its news nntp opera resource rtsp ' +
    'sftp sip sips sms smsto ssh tel telnet urn vbscript view-source wais webcal ws wss wyciwyg x-javascript xmpp'
  ).split(' '),
);

/** Whether an app may have registered a scheme. @param scheme in lower case, without its colon */
export function isAppScheme(scheme: string): boolean {
  return /^[a-z][a-z0-9+.-]*$/.test(scheme) && !NOT_OF_APPS.has(scheme);
}
