/** Addresses as settings name them: of servers that clients reach, and of proxies. Pure. */
import { isIP } from 'node:net';

/** Names that stand for ranges of addresses where proxies are trusted. */
const RANGES: ReadonlySet<string> = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** The address of a server without the slash that people like to end it with, which is no part of an origin. */
export function withoutSlash(address: string): string {
  return address.replace(/\/$/, '');
}

/** Whether a setting is no such address as it has to be, in ways that no pattern of its schema can say. */
export function isAddressFault(setting: string, value: unknown): boolean {
  if (setting === 'MILLRACE_PUBLIC_URL') return !URL.canParse(String(value));
  return setting === 'MILLRACE_TRUST_PROXY' && !areProxies(String(value));
}

/** Whether it is a number of hops, or a list of proxies. */
function areProxies(text: string): boolean {
  return /^\d+$/.test(text) || text.split(',').every((part) => part.trim() === '' || isProxyAddress(part.trim()));
}

/** Whether it is an IP address, a network of them as `10.0.0.0/8`, or the name of a range. */
function isProxyAddress(text: string): boolean {
  if (RANGES.has(text)) return true;
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}
