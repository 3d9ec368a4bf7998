/**
 * Every route of the contract refuses parameters that it does not know, and answers a malformed request with a refusal
 * that the contract names for it.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

interface Response {
  readonly $ref?: string;
}

/** Where other names mean something, or where a stranger decides what is in the address. */
const TAKES_ANY: ReadonlySet<string> = new Set([
  // For load balancers, which may add something.
  'get /healthz',
  'get /readyz',
  // Other names are conditions on members.
  'get /api/{collection}',
  'get /api/{collection}/_changes',
  // The provider decides what comes along.
  'get /auth/{provider}/callback',
  'post /auth/{provider}/callback',
  // Signed addresses carry their signature there.
  'get /files/{id}/{name}',
]);
/** Writes by filter ask for `Prefer` first; other names are conditions. */
const BY_FILTER: ReadonlySet<string> = new Set(['patch /api/{collection}', 'delete /api/{collection}']);
/** Streams without an end: a request that is not refused would never be answered whole. */
const ENDLESS: ReadonlySet<string> = new Set(['get /admin/runs/live']);

t.test('what every route refuses is in the contract', async (t) => {
  const { app } = await buildTestApp(t);
  const contract = (await app.inject('/openapi.json')).json();
  const codesOf = (responses: Readonly<Record<string, Response>>): string =>
    Object.values(responses)
      .map(({ $ref }) => JSON.stringify(contract.components.responses[$ref?.split('/').at(-1) ?? '']))
      .join();

  for (const [path, methods] of Object.entries<Record<string, { responses: Record<string, Response> }>>(
    contract.paths,
  )) {
    const url = path.replace('{collection}', 'books').replace(/\{\w+\}/g, 'x1');
    for (const [method, { responses }] of Object.entries(methods)) {
      const route = `${method} ${path}`;
      const verb = method.toUpperCase() as 'GET';
      const named = codesOf(responses);
      const sent = {
        'a parameter that nobody knows': { url: `${url}?surely_unknown=1` },
        'a body that is no JSON': { url, headers: { 'content-type': 'application/json' }, payload: '{"a":' },
        'an answer that is no JSON': { url, headers: { accept: 'image/png' } },
      };
      for (const [what, request] of Object.entries(ENDLESS.has(route) ? {} : sent)) {
        const answer = await app.inject({ method: verb, ...request });
        if (answer.statusCode < 400) continue;
        const { code } = answer.json();
        t.ok(named.includes(`"${code}"`), `${route} names what ${what} is answered with: ${code}`);
      }
      if (TAKES_ANY.has(route)) continue;
      const answer = await app.inject({ method: verb, url: sent['a parameter that nobody knows'].url });
      const expected = BY_FILTER.has(route) ? 'max-affected-required' : 'unknown-parameter';
      t.equal(answer.json().code, expected, `${route} refuses parameters that it does not know`);
    }
  }
});
