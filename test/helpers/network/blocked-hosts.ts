/** Hosts that must not be called, in many spellings, and servers of this machine that count connections. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSocketServer, type Server } from 'node:net';
import type { Test } from 'tap';

/** Hosts that resolve to this machine, one spelling each. */
export const SPELLINGS = [
  ['127.0.0.1', '127.0.0.2', '127.255.255.254', '127.1', '127.0.1', '0', '0.0.0.0', '2130706433', '0x7f000001'],
  ['0x7F.0.0.1', '0177.0.0.1', '017700000001', '0x7f.1', '0177.0x0.1', '127.000.000.001', '127.0.0.1.', '①②⑦.⓪.⓪.①'],
  ['１２７.０.０.１', '127。0。0。1', '%31%32%37.0.0.1', 'localhost', 'LOCALHOST', 'ⓛocalhost'],
  ['[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[0000::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::FFFF:127.0.0.1]'],
  ['user@127.0.0.1', 'user:password@localhost', 'example.org@127.0.0.1', 'example.org:443@127.0.0.1'],
].flat();

/**
 * Hosts of other networks that are not public. Nothing listens there: the test checks that no connection is attempted.
 */
export const ELSEWHERE = [
  ['10.0.0.1', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.100.100.200', '168.63.129.16', '198.18.0.1'],
  ['224.0.0.1', '255.255.255.255', '192.0.2.1', '[fe80::1]', '[fd00:ec2::254]', '[ff02::1]', '[::7f00:1]'],
  ['[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[2001:db8::1]', '[fec0::1]', '2852039166', '0xa9fea9fe', '[fe80::1%25lo]'],
].flat();

/** Listens on all IP addresses of this machine and counts connections. Each connection serves one request. */
export async function listening(t: Pick<Test, 'teardown'>) {
  let [connections, bytes] = [0, 0];
  const server = createServer((_, response) => response.setHeader('connection', 'close').end('here'));
  server.on('connection', (socket) => {
    connections += 1;
    socket.on('data', (part) => {
      bytes += part.length;
    });
  });
  t.teardown(() => server.close());
  return { port: await listen(server, 0, '::'), count: () => connections, received: () => bytes };
}

/** The same port at 127.0.0.2, which is allowed, and at 127.0.0.1, which is not. */
export async function twoLocations(t: Pick<Test, 'teardown'>) {
  let [good, bad] = [0, 0];
  const allowed = createServer((_, response) => response.setHeader('connection', 'close').end('good'));
  allowed.on('connection', () => {
    good += 1;
  });
  const forbidden = createSocketServer((socket) => {
    bad += 1;
    socket.destroy();
  });
  t.teardown(() => [allowed.close(), forbidden.close()]);
  const port = await listen(allowed, 0, '127.0.0.2');
  await listen(forbidden, port, '127.0.0.1');
  return { port, good: () => good, bad: () => bad };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  return address.port;
}
