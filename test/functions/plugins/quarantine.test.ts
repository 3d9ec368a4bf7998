/**
 * A function that repeatedly forces the end of the runner is quarantined until an administrator releases it. On the real sandbox.
 */
import t from 'tap';
import { createPluginFixture } from '../../helpers/functions/plugin-fixture.ts';
import { until } from '../../helpers/until.ts';

/** One V8 operation that takes seconds and cannot be interrupted. */
const WEDGING = 'export default () => { let x = 2n; for (;;) x = x ** 3n; };';

t.test('Three calls that cannot be interrupted quarantine the function.', async (t) => {
  const { boss, services } = await createPluginFixture(t, { settings: { MILLRACE_FUNCTIONS: 'on' } });
  const functions = ['wedge', 'good'].map((name) => ({ name, file: `${name}.js`, job: true, timeoutMs: 1_000 }));
  const files = { 'wedge.js': WEDGING, 'good.js': 'export default () => 1;' };
  const created = await boss('PUT /admin/plugins/a', { manifest: { name: 'a', functions }, files });
  t.equal(created.statusCode, 201, created.body);
  const { active, calls } = services.functions;
  const call = async (name: string) => {
    const fn = active.find(`a/${name}`);
    if (fn === undefined) throw new Error(`${name} is not active`);
    const run = { id: 'run_x', attempt: 1, depth: 0, restricted: false };
    return calls.call({ fn, input: 'null', run, caller: null, within: null, mayWrite: true });
  };
  const isQuarantined = () => active.find('a/wedge')?.isQuarantined === true;
  for (let n = 1; n <= 3; n += 1) {
    t.notOk(isQuarantined(), `before crash ${n}`);
    t.match((await call('wedge')).outcome, { kind: 'error', code: /^function-(timeout|out-of-memory)$/ });
  }
  await until(isQuarantined, 'it is in quarantine');
  await t.rejects(call('wedge'), { code: 'function-quarantined' });
  t.match((await call('good')).outcome, { kind: 'value', value: '1' }, 'other functions of the plugin run');
  const shown = (await boss('GET /admin/plugins/a')).json().functions;
  t.match(shown, [
    { name: 'wedge', state: 'quarantined', error: /^The function / },
    { name: 'good', state: 'active' },
  ]);
  const types = 'types=system.function.quarantined';
  const reported = async () => (await boss(`GET /events?since=1-0&${types}`)).json().events;
  await until(async () => (await reported()).length > 0, 'the event');
  t.match(await reported(), [{ data: { details: { function: 'a/wedge', reason: shown[0].error } }, actor: null }]);
  await boss('POST /admin/plugins/a/functions/wedge/unquarantine');
  t.match((await call('wedge')).outcome, { kind: 'error' }, 'released, it is called again');
});
