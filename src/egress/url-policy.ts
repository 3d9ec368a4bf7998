/**
 * How a URL to call must be written. URLs have many spellings for one host (2130706433, 0x7f.1 and 127.0.0.1 are the
 * same), so only one is accepted, and anything misleading to a reader is rejected. Pure: names are not resolved.
 */
import { isIP } from 'node:net';
import type { ServerMode } from '../config/config.ts';
import { type AddressPolicy, isLocalhost, LOCALHOST } from './address-policy.ts';

export interface EgressUrlRules {
  readonly mode: ServerMode;
  readonly allow: readonly string[];
  readonly addressPolicy: AddressPolicy;
}

const MAX_URL_LENGTH = 2_048;
/**
 * Ports above 1023 of other protocols, among those that browsers block (WHATWG Fetch, "bad port"): an HTTP request can
 * be read as theirs. Below 1024, only the two ports of HTTP are accepted.
 */
const OTHER_PROTOCOLS = new Set([
  1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

/** A URL that may be called as far as its text shows, or what is wrong with it. */
export type EgressUrlResult = { readonly url: URL } | { readonly issue: string };

/** Parses a URL. The fault is the end of a sentence: "The URL …". */
export function parseEgressUrl(text: string, rules: EgressUrlRules): EgressUrlResult {
  const issue = spellingIssue(text);
  if (issue !== null) return { issue };
  const url = new URL(text);
  const where = portIssue(url) ?? hostIssue(url, rules);
  return where === null ? { url } : { issue: where };
}

function spellingIssue(text: string): string | null {
  if (text.length > MAX_URL_LENGTH) return `is longer than ${MAX_URL_LENGTH} characters`;
  if (!/^[\x21-\x7e]*$/.test(text) || text.includes('\\')) {
    return 'must contain only ASCII characters, without spaces and backslashes; write other names as xn--…';
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined || !URL.canParse(text)) return 'is not an http(s) URL with a host';
  if (authority.includes('@')) return 'must not contain a user name or password';
  if (text.includes('#')) return 'must not contain a fragment';
  const { hostname } = new URL(text);
  const host = authority.replace(/:\d*$/, '').toLowerCase();
  if (host === hostname) return hostname.endsWith('.') ? 'must not have a dot at the end of its host' : null;
  return `writes its host in an unusual way; write ${hostname.replace(/\.$/, '')} instead`;
}

function portIssue({ port }: URL): string | null {
  const number = Number(port);
  const taken = port === '' || number === 80 || number === 443 || (number > 1_023 && !OTHER_PROTOCOLS.has(number));
  return taken ? null : `has the port ${port}, which is not used by web servers`;
}

function hostIssue({ protocol, hostname }: URL, { mode, allow, addressPolicy }: EgressUrlRules): string | null {
  const secure = protocol === 'https:';
  if (!secure && mode === 'production' && allow.length === 0) return 'must start with https://';
  const hosts = isLocalhost(hostname) ? LOCALHOST : [hostname.replace(/^\[|\]$/g, '')];
  if (hosts.some((host) => isIP(host) === 0 || addressPolicy(host, secure))) return null;
  return hosts.some((host) => addressPolicy(host, true))
    ? 'must start with https://'
    : 'points to a network that is not public; MILLRACE_EGRESS_ALLOW can list networks that are allowed';
}
