/**
 * A third-party tester runs against the program and its OpenAPI document: no internal error (5xx), no status, media
 * type, header or body that the document does not contain, no invalid request accepted. Every run sends the valid requests; invalid ones, with
 * every wrong type at every place, only MILLRACE_LONG=1. MILLRACE_RUNS sets the number of examples for each operation.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { buildTestApp } from './helpers/app.ts';
import { failuresOf, schemathesis, scratch, whyNoSchemathesis } from './helpers/programs/schemathesis.ts';
import { runCount } from './helpers/random.ts';

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'error_code_conformance',
];
const SEED = process.env['MILLRACE_SEED'] ?? '1';
const EXAMPLES = runCount(1, 200);
const RUN_MS = isLong ? 3_600_000 : 480_000;

/** Statuses that count as rejecting an invalid request: the tester's own list, and a URL or a body that is too long. */
const CONFIG = `
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429]
`;

/** All errors have one schema; which codes a response can have is in its `x-error-codes`. */
const ERROR_CODES = `
import schemathesis

@schemathesis.check
def error_code_conformance(ctx, response, case):
    declared = case.operation.definition.raw["responses"].get(str(response.status_code))
    if response.status_code < 400 or declared is None or not response.content:
        return
    responses = case.operation.schema.raw_schema["components"]["responses"]
    codes = responses[declared["$ref"].rsplit("/", 1)[-1]]["x-error-codes"]
    code = response.json()["code"]
    assert code in codes, f"{response.status_code} with the code {code} is not declared"
`;

import { isLong } from './helpers/long-profile.ts';

const why = whyNoSchemathesis();

t.setTimeout(2 * RUN_MS + 60_000);
t.test('the program responds as its OpenAPI document says', { skip: why ?? false }, async (t) => {
  t.comment(`MILLRACE_SEED=${SEED}, ${EXAMPLES} examples an operation`);
  const { app } = await buildTestApp(t);
  await app.inject({
    method: 'POST',
    url: '/api/books',
    payload: [
      { id: 'one', title: 'One', year: 1999, tags: ['a'] },
      { id: 'two', title: 'Two', year: '2001', author: { name: 'B' } },
    ],
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const folder = scratch(tmpdir());
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'schemathesis.toml'), `hooks = "hooks.py"\n${CONFIG}`);
  writeFileSync(join(folder, 'hooks.py'), ERROR_CODES);
  const requested = [`${url}/openapi.json`, '--url', url, '--max-examples', String(EXAMPLES)];
  const words = [...requested, '--checks', CHECKS.join(',')];
  const phases = isLong ? [] : ['--phases', 'coverage', '--mode', 'positive'];
  // Any id is another document, so few are found; a slow machine is no error of the program.
  const calm = [
    '--seed',
    SEED,
    '--no-shrink',
    '--continue-on-failure',
    '--suppress-health-check',
    'all',
    '--warnings',
    'off',
  ];
  // The paths for any collection represent those of each, and a stream without an end has no response to check.
  const left = ['--exclude-path-regex', '^/api/books|^/admin/runs/live$'];
  const run = await schemathesis([...words, ...calm, ...left, ...phases], folder, RUN_MS);
  t.equal(run.code, 0, run.code === 0 ? 'nothing outside the contract' : failuresOf(run));
  t.match(run.output, /\d+ generated/);
  t.comment(/Test cases:\s+(.*)/.exec(run.output)?.[1] ?? '');
  if (!isLong) return;
  // Its fields are described as the first documents had them; the tester writes others, which a collection accepts.
  const checks = CHECKS.filter((check) => check !== 'response_schema_conformance');
  const books = ['--checks', checks.join(','), '--include-path-regex', '^/api/books'];
  const own = await schemathesis([...requested, ...books, ...calm], folder, RUN_MS);
  t.equal(own.code, 0, own.code === 0 ? 'nor at a collection that exists' : failuresOf(own));
});
