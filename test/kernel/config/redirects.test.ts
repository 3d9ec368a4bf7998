/** Addresses that a sign-in may end at: exact matches only, of addresses that have one spelling only. */
import t from 'tap';
import { isAllowedRedirect, redirectFault } from '../../../src/kernel/config/redirects.ts';

const GOOD = ['https://app.example.org/done', 'https://app.example.org/', 'http://127.0.0.1:5173/', 'http://[::1]/cb'];

t.test('an address of the list is allowed, and nothing that resembles it', async (t) => {
  for (const address of GOOD) t.ok(isAllowedRedirect(address, GOOD), address);
  const others = [
    '',
    'https://app.example.org',
    'https://app.example.org/done/',
    'https://app.example.org/Done',
    'https://APP.example.org/done',
    'HTTPS://app.example.org/done',
    'https://app.example.org./done',
    'https://app.example.org:443/done',
    'https://app.example.org:8443/done',
    'https://app.example.org/done?x=1',
    'https://app.example.org/done#x',
    'https://app.example.org/done%2f',
    'https://app.example.org/done%00',
    'https://app.example.org/x/../done',
    'https://app.example.org/./done',
    'https://app.example.org//done',
    'https://app.example.org\\done',
    'https://user@app.example.org/done',
    'https://app.example.org@evil.example/done',
    'https://app.example.org.evil.example/done',
    'https://evil.example/https://app.example.org/done',
    'http://app.example.org/done',
    '//app.example.org/done',
    ' https://app.example.org/done',
    'https://app.example.org/done\n',
    'http://127.0.0.1:5174/',
    'http://localhost:5173/',
    'javascript:alert(1)',
  ];
  for (const address of others) t.notOk(isAllowedRedirect(address, GOOD), address);
});

t.test('the list takes only addresses without doubt', async (t) => {
  for (const address of GOOD) t.equal(redirectFault(address, 'production'), null, address);
  t.equal(redirectFault('http://192.168.0.7:5173/', 'development'), null);
  const refused: [string, RegExp][] = [
    ['http://app.example.org/done', /https:/],
    ['http://127.evil.example/', /https:/],
    ['https://app.example.org', /spelled as browsers do: https:\/\/app\.example\.org\/$/],
    ['https://APP.example.org/', /spelled/],
    ['https://app.example.org:443/', /spelled/],
    ['https://app.example.org/a/../b', /spelled/],
    ['https://app.example.org\\b', /spelled/],
    ['https://app.example.org/a b', /spelled/],
    ['https://app.example.org/*', /wildcard/],
    ['https://*.example.org/', /wildcard/],
    ['https://a:b@app.example.org/', /user name/],
    ['https://@app.example.org/', /user name/],
    ['https://app.example.org/#', /fragment/],
    ['https://app.example.org/?', /query/],
    ['https://app.example.org./', /dot/],
    ['https://app.example.org/a%2Fb', /encoded/],
    ['https://app.example.org/%2e%2e/', /encoded|spelled/],
    ['//app.example.org/', /whole address/],
    ['/done', /whole address/],
    ['javascript:alert(1)', /whole address/],
    ['https://', /whole address/],
    [`https://app.example.org/${'x'.repeat(3_000)}`, /at most/],
  ];
  for (const [address, fault] of refused) t.match(redirectFault(address, 'production'), fault, address.slice(0, 60));
});
