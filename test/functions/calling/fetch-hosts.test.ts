/** URLs that the hosts of a manifest allow. */
import t from 'tap';
import { createHostMatcher } from '../../../src/functions/calling/host/host-matcher.ts';

const HOSTS = ['api.example.com', '*.example.org:8443', '*.example.net', '10.0.0.1:8080'];
const YES = [
  ...['https://api.example.com', 'https://api.example.com:443/x', 'https://API.example.com/?q=1'],
  ...['https://a.example.org:8443', 'http://a.b.example.org:8443', 'https://a.example.net', 'http://10.0.0.1:8080'],
];
const NO = [
  ...['http://api.example.com', 'https://api.example.com:444', 'https://x.api.example.com', 'https://api.example.com.'],
  ...['https://example.org:8443', 'https://a.example.org', 'https://aexample.org:8443', 'https://example.net'],
  ...['https://.example.net', 'https://api.example.com.evil.net', 'https://10.0.0.1', 'http://10.0.0.11:8080'],
  ...['ftp://api.example.com:443', 'https://evil.net/api.example.com', 'https://evil.net?api.example.com'],
];

t.test('The hosts of a manifest decide which URLs a function may fetch.', async (t) => {
  const may = createHostMatcher(HOSTS);
  for (const url of YES) t.ok(may(new URL(url)), url);
  for (const url of NO.filter((one) => URL.canParse(one))) t.notOk(may(new URL(url)), url);
  t.notOk(createHostMatcher([])(new URL('https://api.example.com')));
});
