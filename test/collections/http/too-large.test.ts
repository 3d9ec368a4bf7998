/**
 * Documents that no database can store: JSON of numbers is several times as large as BSON, so a small body is enough.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

t.test('documents beyond 16 MB are rejected with their code, in every way of writing', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MAX_BODY_BYTES: '8000000' });
  const numbers = (count: number): string => `[${'1,'.repeat(count)}1]`;
  const huge = `{"l":${numbers(1_450_000)}}`;
  const write = async (method: 'POST' | 'PUT' | 'PATCH', url: string, payload: string, type = 'application/json') => {
    const headers = { 'content-type': type, prefer: 'return=minimal' };
    const { statusCode, body } = await app.inject({ method, url, payload, headers });
    return [statusCode, body === '' ? null : JSON.parse(body).code];
  };
  const refused = [413, 'document-too-large'];
  t.strictSame(await write('POST', '/api/things', '{"id":"a"}'), [201, null]);
  t.strictSame(await write('POST', '/api/things', huge), refused);
  t.strictSame(await write('POST', '/api/things', `[{},${huge}]`), refused);
  t.strictSame(await write('PUT', '/api/things/b?upsert=true', huge), refused);
  t.strictSame(await write('PUT', '/api/things/a', huge), refused);
  t.strictSame(await write('PATCH', '/api/things/a', huge), refused);
  const operations = `{"operations":[{"method":"PUT","path":"/api/things/a","body":${huge}}]}`;
  t.strictSame(await write('POST', '/batch', operations), refused);
  // A value that fits alone does not when the document is almost full.
  for (const [name, outcome] of Object.entries({ x: [204, null], y: [204, null], z: refused })) {
    t.strictSame(await write('PATCH', '/api/things/a', `{"${name}":${numbers(500_000)}}`), outcome, name);
  }
  t.equal((await app.inject('/api/things?fields=id')).json().length, 1);
});
