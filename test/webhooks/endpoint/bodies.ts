/** Valid and invalid bodies of new endpoints. */
import { randomBytes } from 'node:crypto';
import { MASKED_HEADER_VALUE } from '../../../src/webhooks/endpoint/endpoint-schema.ts';

/** The minimum that an endpoint needs. */
export const GOOD = { url: 'https://example.org/hook', types: ['todos.*'] };

export const secretOf = (bytes: number): string => `whsec_${randomBytes(bytes).toString('base64')}`;

export const GOOD_BODIES: readonly (readonly [name: string, body: object])[] = [
  ['the least', GOOD],
  ['a URL of this machine in development', { ...GOOD, url: 'http://127.0.0.1:8080/' }],
  [
    'every member',
    {
      ...GOOD,
      name: 'Ship it',
      filter: { $or: [{ done: true }, { owner: '$user.id' }], 'due.day': { $gt: 3 } },
      headers: { Authorization: 'Bearer a b', 'X-A.b': '1' },
      ratePerSecond: 0.5,
      ordering: 'document',
      retrySchedule: 'long',
      enabled: false,
      secret: secretOf(24),
    },
  ],
  ['null for nothing', { ...GOOD, name: null, filter: null, ratePerSecond: null }],
  ['a secret of 64 bytes', { ...GOOD, secret: secretOf(64) }],
  ['patterns and system types', { ...GOOD, types: ['*', '*.created', 'system.file.*', 'system.delivery.failed'] }],
];

/** Each with the code, and with the JSON Pointer and the sentence of its first error. */
export const BAD_BODIES: readonly (readonly [name: string, body: unknown, code: string, fault: RegExp])[] = [
  ['no body', undefined, 'body-required', /^$/],
  ['a list', [], 'invalid-body', /must be object/],
  ['nothing', {}, 'invalid-body', /required/],
  ['an unknown field', { ...GOOD, colour: 'red' }, 'invalid-body', /^\/colour is not known here/],
  ['a field of responses', { ...GOOD, health: {} }, 'invalid-body', /^\/health is not known here/],
  ['a path', { ...GOOD, url: '/a/path/of/mine' }, 'invalid-endpoint', /^\/url /],
  ['another scheme', { ...GOOD, url: 'ftp://example.org/' }, 'invalid-endpoint', /^\/url /],
  ['a user in the URL', { ...GOOD, url: 'https://u:p@example.org/' }, 'invalid-endpoint', /^\/url /],
  ['metadata IP addresses of clouds', { ...GOOD, url: 'http://169.254.169.254/latest' }, 'invalid-endpoint', /^\/url /],
  ['no types', { ...GOOD, types: [] }, 'invalid-body', /^\/types /],
  ['101 types', { ...GOOD, types: Array.from({ length: 101 }, (_, i) => `a${i}.created`) }, 'invalid-body', /^\/types/],
  ['a type twice', { ...GOOD, types: ['a.created', 'a.created'] }, 'invalid-body', /^\/types/],
  [
    'a verb that is none',
    { ...GOOD, types: ['a.created', 'todos.create'] },
    'invalid-endpoint',
    /^\/types\/1 There are no events of the type 'todos\.create'\. Did you mean 'todos\.created'\?$/,
  ],
  [
    'an unknown system type',
    { ...GOOD, types: ['system.endpoint.disable'] },
    'invalid-endpoint',
    /Did you mean 'system\.endpoint\.disabled'\?/,
  ],
  ['an unknown operator', { ...GOOD, filter: { a: { $near: 1 } } }, 'invalid-endpoint', /^\/filter.*/],
  ['an unknown variable', { ...GOOD, filter: { a: '$who.id' } }, 'invalid-endpoint', /^\/filter/],
  ['a filter that is a list', { ...GOOD, filter: [] }, 'invalid-body', /^\/filter/],
  [
    'an expensive filter',
    {
      ...GOOD,
      filter: { $or: Array.from({ length: 30 }, () => ({ a: { $contains: 'x'.repeat(900) } })) },
    },
    'invalid-endpoint',
    /^\/filter The filter costs .* 2,000 is the most here/,
  ],
  ['a header of the call', { ...GOOD, headers: { Host: 'a' } }, 'invalid-endpoint', /^\/headers\/Host is set by/],
  ...[
    'Content-Length',
    'content-type',
    'Webhook-Id',
    'webhook-signature',
    'Connection',
    'TE',
    'Transfer-Encoding',
    'Upgrade',
    'keep-alive',
    'Proxy-Authorization',
    'user-agent',
    'Trailer',
  ].map(
    (name) =>
      [`the header ${name}`, { ...GOOD, headers: { [name]: 'a' } }, 'invalid-endpoint', /is set by Millrace/] as const,
  ),
  ['a name with a space', { ...GOOD, headers: { 'x a': '1' } }, 'invalid-endpoint', /is not a header name/],
  ['a name with a line break', { ...GOOD, headers: { 'x\r\nHost': '1' } }, 'invalid-endpoint', /is not a header name/],
  ['no text for a name with a line break', { ...GOOD, headers: { 'x\n': null } }, 'invalid-body', /^\/headers\/x\n/],
  ['a value with a line break', { ...GOOD, headers: { 'x-a': '1\r\nx-b: 2' } }, 'invalid-endpoint', /visible ASCII/],
  ['a value with NUL', { ...GOOD, headers: { 'x-a': '1\0' } }, 'invalid-endpoint', /visible ASCII/],
  ['a value that is not ASCII', { ...GOOD, headers: { 'x-a': 'ü' } }, 'invalid-endpoint', /visible ASCII/],
  ['a value that ends with a space', { ...GOOD, headers: { 'x-a': 'a ' } }, 'invalid-endpoint', /visible ASCII/],
  ['no value', { ...GOOD, headers: { 'x-a': '' } }, 'invalid-body', /^\/headers\/x-a/],
  [
    'a name twice',
    { ...GOOD, headers: { 'x-a': '1', 'X-A': '2' } },
    'invalid-endpoint',
    /^\/headers\/X-A is given twice/,
  ],
  [
    'the placeholder of a stored value',
    { ...GOOD, headers: { 'x-a': MASKED_HEADER_VALUE } },
    'invalid-endpoint',
    /^\/headers\/x-a needs its value/,
  ],
  [
    '21 headers',
    { ...GOOD, headers: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`x-${i}`, 'a'])) },
    'invalid-body',
    /^\/headers/,
  ],
  [
    '8 KiB of headers',
    { ...GOOD, headers: Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`x-${i}`, 'a'.repeat(2_000)])) },
    'invalid-endpoint',
    /^\/headers must have at most 8192 bytes/,
  ],
  ['a rate of 0', { ...GOOD, ratePerSecond: 0 }, 'invalid-body', /^\/ratePerSecond/],
  ['a rate of 1001', { ...GOOD, ratePerSecond: 1_001 }, 'invalid-body', /^\/ratePerSecond/],
  ['a rate in words', { ...GOOD, ratePerSecond: '5' }, 'invalid-body', /^\/ratePerSecond/],
  ['another order', { ...GOOD, ordering: 'collection' }, 'invalid-body', /^\/ordering must be one of none, document/],
  ['another schedule', { ...GOOD, retrySchedule: 'fast' }, 'invalid-body', /^\/retrySchedule must be one of/],
  [
    'a secret without its prefix',
    { ...GOOD, secret: randomBytes(32).toString('base64') },
    'invalid-endpoint',
    /^\/secret must be/,
  ],
  ['a secret of 23 bytes', { ...GOOD, secret: secretOf(23) }, 'invalid-endpoint', /^\/secret must have 24 to 64 bytes/],
  ['a secret of 65 bytes', { ...GOOD, secret: secretOf(65) }, 'invalid-endpoint', /^\/secret must have/],
  [
    'a secret that is not base64',
    { ...GOOD, secret: 'whsec_!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!' },
    'invalid-endpoint',
    /base64/,
  ],
  [
    'more than 64 KiB',
    { ...GOOD, filter: { $or: Array.from({ length: 80 }, (_, i) => ({ [`a${i}`]: 'x'.repeat(1_000) })) } },
    'invalid-endpoint',
    /more than 65536 characters/,
  ],
];
