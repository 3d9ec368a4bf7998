/** The Zapier app without a server: its structure, the base URL of a connection, and the conversion of document fields. */
import t from 'tap';
import { baseUrl } from '../../../integrations/zapier/src/api/requests.ts';
import { isGenuine } from '../../../integrations/zapier/src/api/signature.ts';
import { fieldsOf, labelOf } from '../../../integrations/zapier/src/fields/fields.ts';
import { filledIn } from '../../../integrations/zapier/src/fields/input-fields.ts';
import { definition, hooksWithoutEnd, structuralErrors } from '../../../integrations/zapier/test/app-tester.ts';

t.test('The Zapier app is valid, and every hook can be removed.', async (t) => {
  t.strictSame(await structuralErrors(), []);
  const { platformVersion: _, ...broken } = definition;
  t.match(await structuralErrors(broken), [{ stack: /platformVersion/ }], 'what is wrong is found');
  t.strictSame(hooksWithoutEnd(), []);
});

t.test('the URL of a connection', async (t) => {
  for (const [text, url] of [
    ['https://api.example.org', 'https://api.example.org'],
    [' https://api.example.org// ', 'https://api.example.org'],
    ['https://example.org/backend/', 'https://example.org/backend'],
    ['http://localhost:3000/', 'http://localhost:3000'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
  ] as const) {
    t.equal(baseUrl(text), url, text);
  }
  for (const text of [
    '',
    'api.example.org',
    'ftp://example.org',
    'http://example.org',
    'http://127.0.0.1.example.org',
    'http://localhost.example.org',
    'https://ann:secret@example.org',
    'https://example.org/?a=1',
    'https://example.org/#a',
  ]) {
    t.throws(() => baseUrl(text), { message: /base URL must/ }, text);
  }
});

t.test('The fields of a schema are flattened.', async (t) => {
  const properties = {
    id: { type: 'string' },
    title: { type: ['string', 'null'] },
    year: { type: 'integer' },
    price: { type: ['number', 'string'] },
    seen: { type: 'boolean' },
    due: { type: 'string', format: 'date-time' },
    tags: { type: 'array', items: { type: 'string' } },
    lines: { type: 'array', items: { type: 'object', properties: { sku: { type: 'string' } } } },
    address: { type: 'object', properties: { city: { type: 'string' }, geo: { type: 'object' } } },
    anything: {},
    _meta: { type: 'object', readOnly: true, properties: { revision: { type: 'integer' } } },
  };
  t.strictSame(
    fieldsOf({ type: 'object', properties }).map(({ path, kind, isList, isReadOnly }) =>
      [path.join('.'), kind, ...(isList ? ['list'] : []), ...(isReadOnly ? ['read-only'] : [])].join(' '),
    ),
    [
      'id string',
      'title string',
      'year integer',
      'price string',
      'seen boolean',
      'due datetime',
      'tags string list',
      'lines json',
      'address.city string',
      'address.geo json',
      'anything string',
      '_meta.revision integer read-only',
    ],
  );
  t.equal(labelOf(['US Gross']), 'US Gross');
  t.equal(labelOf(['shippingAddress', 'zip_code']), 'Shipping Address Zip Code');
});

t.test('A completed Zapier form becomes a document.', async (t) => {
  const document = filledIn({
    collection: 'orders',
    id: '7',
    field__title: 'Soup {{name}}',
    field__address__city: 'Ulm',
    field__tags: ['a', 'b'],
    json__lines: '[{"sku":"A1"}]',
    field__US$20$Gross: 5,
    document: '{"title":"Stew","price":null}',
  });
  t.strictSame(JSON.parse(JSON.stringify(document)), {
    title: 'Stew',
    address: { city: 'Ulm' },
    tags: ['a', 'b'],
    lines: [{ sku: 'A1' }],
    'US Gross': 5,
    price: null,
  });
  t.throws(() => filledIn({ document: '[1]' }), { message: /must be a JSON object/ });
  t.throws(() => filledIn({ document: '{"a"' }), { message: /More Fields.* is not JSON/ });
  t.throws(() => filledIn({ json__lines: '[' }), { message: /Lines.* is not JSON/ });
});

t.test('A delivery to Zapier is genuine if one of its signatures is valid.', async (t) => {
  // The example of Standard Webhooks 1.0.
  const headers = {
    'Http-Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'Http-Webhook-Timestamp': '1614265330',
    'Http-Webhook-Signature': 'v1,bm9uZQ== v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const content = '{"test": 2432232314}';
  t.ok(isGenuine(secret, { headers, content }));
  const bySvix = Object.entries(headers).map(([name, value]) => [name.replace('Webhook', 'Svix'), value]);
  t.ok(isGenuine(secret, { headers: Object.fromEntries(bySvix), content }), 'with the names that Svix has');
  t.notOk(isGenuine(secret, { headers, content: '{"test": 2432232315}' }));
  t.notOk(isGenuine(secret.replace('Sw', 'Sx'), { headers, content }));
  t.notOk(isGenuine(secret, { headers: {}, content }));
});
