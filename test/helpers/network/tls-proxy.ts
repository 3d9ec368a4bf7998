/** A TLS proxy in front of the program, as in production, with a self-signed certificate. */
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface TlsProxy {
  /** As browsers see it: `https://127.0.0.1:…`. */
  readonly origin: string;
  /** Starts forwarding requests to a server, such as `http://127.0.0.1:3000`. */
  passTo(target: string): void;
}

/** Listens at once, so that the program can get its public URL, and is closed at the end of the test. */
export async function startTlsProxy(t: Pick<Test, 'teardown'>): Promise<TlsProxy> {
  let target = '';
  const server = createServer({ key: KEY, cert: CERTIFICATE }, (incoming, outgoing) => {
    const headers = { ...incoming.headers, 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' };
    const passed = httpRequest(new URL(incoming.url ?? '/', target), { method: incoming.method ?? '', headers });
    passed.on('error', () => outgoing.destroy());
    passed.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders);
      response.pipe(outgoing);
    });
    incoming.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://127.0.0.1:${port}`,
    passTo: (url) => {
      target = url;
    },
  };
}

/** For provider.example, self-signed, until 2126. */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGGSX5SIGomdyjyeK
6/fDUszc5GhYIWZ4hudKyJjX7bShRANCAAR+QTLt0SevURICjYavUqAmqHF4/xxY
oetIBiAch8+ecl48uwAibIQQZKllnw5H1kMS8yElFJ1Ac4/T72jUEzmN
-----END PRIVATE KEY-----`;
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBqjCCAVCgAwIBAgIUFQ3hHmjhmTrzwYV5uuLKy62sl+AwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQcHJvdmlkZXIuZXhhbXBsZTAgFw0yNjExMjMwNDA5NTNaGA8y
MTI2MTAzMDA0MDk1M1owGzEZMBcGA1UEAwwQcHJvdmlkZXIuZXhhbXBsZTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABH5BMu3RJ69REgKNhq9SoCaocXj/HFih60gG
IByHz55yXjy7ACJshBBkqWWfDkfWQxLzISUUnUBzj9PvaNQTOY2jcDBuMB0GA1Ud
DgQWBBQlLRhAKbt2LSRA32nKN8klGgRYpTAfBgNVHSMEGDAWgBQlLRhAKbt2LSRA
32nKN8klGgRYpTAPBgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCEHByb3ZpZGVy
LmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIhAN14DueyXpPXN+2Ui5SwQwjha3dr
3/j42MgGc0vX3hRkAiB2AwtVaXrUw2kubZmEshuJZPCFh2WgjZB+C8mstnjgwQ==
-----END CERTIFICATE-----`;
