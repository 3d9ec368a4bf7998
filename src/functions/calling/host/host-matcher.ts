/** URLs that a plugin may fetch: those at the hosts of its manifest. Pure. */

/** The default port of a host without one. */
const HTTPS_PORT = '443';

/**
 * Whether a URL is at one of the hosts.
 * @param hosts as in the manifest: `api.example.com`, `*.example.org:8443`
 */
export function createHostMatcher(hosts: readonly string[]): (url: URL) => boolean {
  const exact = new Set<string>();
  const below: (readonly [suffix: string, port: string])[] = [];
  for (const host of hosts) {
    const [name = '', port = HTTPS_PORT] = host.split(':');
    if (name.startsWith('*.')) below.push([name.slice(1), port]);
    else exact.add(`${name}:${port}`);
  }
  return ({ protocol, hostname, port }) => {
    const usual = DEFAULT_PORTS[protocol];
    if (usual === undefined) return false;
    const requested = port === '' ? usual : port;
    return (
      exact.has(`${hostname}:${requested}`) ||
      below.some(
        ([suffix, known]) => known === requested && hostname.endsWith(suffix) && hostname.length > suffix.length,
      )
    );
  };
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': HTTPS_PORT, 'http:': '80' };
