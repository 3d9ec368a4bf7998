/**
 * How a URL that shall be called has to be written. URLs have many spellings for one host (2130706433, 0x7f.1 and
 * 127.0.0.1 are the same), so a host is taken in one only, and what a reader of the setting cannot see through is refused.
 * Pure: names are not looked up. Not here: which addresses may be reached (reach.ts); that is decided when a connection is
 * made, and here only for hosts that are addresses themselves.
 */
import { isIP } from 'node:net';
import type { Mode } from '../kernel/config/config.ts';
import { isLocalhost, LOCALHOST, type Reach } from './reach.ts';

export interface TargetRules {
  readonly mode: Mode;
  readonly allow: readonly string[];
  readonly reach: Reach;
}

const MAX_URL_LENGTH = 2_048;
/**
 * Ports above 1023 where other protocols live, of those that browsers refuse (WHATWG Fetch, "bad port"): an HTTP request
 * can be read as theirs. Below, only the two ports of HTTP are taken.
 */
const OTHER_PROTOCOLS = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

/** A URL that may be called as far as one can see, or what is wrong with it. */
export type Target = { readonly url: URL } | { readonly fault: string };

/** Reads a URL. The fault is the end of a sentence: "The URL …". */
export function readTarget(text: string, rules: TargetRules): Target {
  const fault = spellingFault(text);
  if (fault !== null) return { fault };
  const url = new URL(text);
  const where = portFault(url) ?? placeFault(url, rules);
  return where === null ? { url } : { fault: where };
}

function spellingFault(text: string): string | null {
  if (text.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters`;
  if (!/^[\x21-\x7e]*$/.test(text) || text.includes('\\')) {
    return 'may hold letters, digits and signs of ASCII only, without blanks and backslashes; write other names as xn--…';
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined || !URL.canParse(text)) return 'is not an http(s) URL with a host';
  if (authority.includes('@')) return 'may hold no user name and no password';
  if (text.includes('#')) return 'may hold no fragment';
  const { hostname } = new URL(text);
  const host = authority.replace(/:\d*$/, '').toLowerCase();
  if (host === hostname) return hostname.endsWith('.') ? 'may not have a dot at the end of its host' : null;
  return `writes its host in an unusual way; as ${hostname.replace(/\.$/, '')} it can be judged`;
}

function portFault({ port }: URL): string | null {
  const number = Number(port);
  const taken = port === '' || number === 80 || number === 443 || (number > 1_023 && !OTHER_PROTOCOLS.has(number));
  return taken ? null : `names the port ${port}, where no web server is expected`;
}

function placeFault({ protocol, hostname }: URL, { mode, allow, reach }: TargetRules): string | null {
  const secure = protocol === 'https:';
  if (!secure && mode === 'production' && allow.length === 0) return 'must begin with https://';
  const hosts = isLocalhost(hostname) ? LOCALHOST : [hostname.replace(/^\[|\]$/g, '')];
  if (hosts.some((host) => isIP(host) === 0 || reach(host, secure))) return null;
  return hosts.some((host) => reach(host, true))
    ? 'must begin with https://'
    : 'leads into a network that is not public; MILLRACE_EGRESS_ALLOW can name networks that may be called';
}
