/** Which URLs the functions of a plugin may fetch: those at the hosts that its manifest names. Pure. Not here: fetching. */

/** The port that a host without one stands for. */
const HTTPS_PORT = '443';

/** Whether a URL is at one of the hosts. @param hosts as the manifest names them: `api.example.com`, `*.example.org:8443` */
export function fetchRule(hosts: readonly string[]): (url: URL) => boolean {
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
    const asked = port === '' ? usual : port;
    return (
      exact.has(`${hostname}:${asked}`) ||
      below.some(([suffix, known]) => known === asked && hostname.endsWith(suffix) && hostname.length > suffix.length)
    );
  };
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': HTTPS_PORT, 'http:': '80' };
