/**
 * Every route of the OpenAPI document rejects unknown parameters, and responds to a malformed request with an error
 * that the document lists for it.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

interface Response {
  readonly $ref?: string;
}

/** Routes where other names have a meaning, or where another party decides what is in the URL. */
const TAKES_ANY: ReadonlySet<string> = new Set([
  // For load balancers, which may add something.
  'get /healthz',
  'get /readyz',
  // Other names are conditions on fields.
  'get /api/{collection}',
  'get /api/{collection}/_changes',
  // The provider decides the parameters.
  'get /auth/providers/{provider}/callback',
  'post /auth/providers/{provider}/callback',
  // Signed URLs contain their signature there.
  'get /files/{id}/{name}',
]);
/** Writes by filter check `Prefer` first; other names are conditions. */
const BY_FILTER: ReadonlySet<string> = new Set(['patch /api/{collection}', 'delete /api/{collection}']);
/** Endless streams: a request that is not rejected would never get a complete response. */
const ENDLESS: ReadonlySet<string> = new Set(['get /admin/runs/live']);

t.test('every error of every route is in the OpenAPI document', async (t) => {
  const { app } = await buildTestApp(t);
  const openApi = (await app.inject('/openapi.json')).json();
  const codesOf = (responses: Readonly<Record<string, Response>>): string =>
    Object.values(responses)
      .map(({ $ref }) => JSON.stringify(openApi.components.responses[$ref?.split('/').at(-1) ?? '']))
      .join();

  for (const [path, methods] of Object.entries<Record<string, { responses: Record<string, Response> }>>(
    openApi.paths,
  )) {
    const url = path.replace('{collection}', 'books').replace(/\{\w+\}/g, 'x1');
    for (const [method, { responses }] of Object.entries(methods)) {
      const route = `${method} ${path}`;
      const verb = method.toUpperCase() as 'GET';
      const named = codesOf(responses);
      const sent = {
        'an unknown parameter': { url: `${url}?surely_unknown=1` },
        'a body that is no JSON': { url, headers: { 'content-type': 'application/json' }, payload: '{"a":' },
        'a response that is not JSON': { url, headers: { accept: 'image/png' } },
      };
      for (const [what, request] of Object.entries(ENDLESS.has(route) ? {} : sent)) {
        const response = await app.inject({ method: verb, ...request });
        if (response.statusCode < 400) continue;
        const { code } = response.json();
        t.ok(named.includes(`"${code}"`), `${route} lists the error for ${what}: ${code}`);
      }
      if (TAKES_ANY.has(route)) continue;
      const result = await app.inject({ method: verb, url: sent['an unknown parameter'].url });
      const expected = BY_FILTER.has(route) ? 'max-affected-required' : 'unknown-parameter';
      t.equal(result.json().code, expected, `${route} rejects unknown parameters`);
    }
  }
});
