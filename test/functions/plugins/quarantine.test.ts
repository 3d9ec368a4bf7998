/** A function that has the runner ended again and again is called no more, until an owner releases it. On the real sandbox. */
import t from 'tap';
import { pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { until } from '../../helpers/until.ts';

/** One operation of V8 that takes seconds and that nothing interrupts. */
const WEDGING = 'export default () => { let x = 2n; for (;;) x = x ** 3n; };';

t.test('three calls that cannot be interrupted', async (t) => {
  const { boss, parts } = await pluginWorld(t, { settings: { MILLRACE_FUNCTIONS: 'on' } });
  const functions = ['wedge', 'good'].map((name) => ({ name, file: `${name}.js`, job: true, timeoutMs: 1_000 }));
  const files = { 'wedge.js': WEDGING, 'good.js': 'export default () => 1;' };
  const made = await boss('PUT /admin/plugins/a', { manifest: { name: 'a', functions }, files });
  t.equal(made.statusCode, 201, made.body);
  const { active, calls } = parts.functions;
  const call = async (name: string) => {
    const fn = active.find(`a/${name}`);
    if (fn === undefined) throw new Error(`${name} is not in force`);
    const run = { id: 'run_x', attempt: 1, depth: 0, restricted: false };
    return calls.call({ fn, input: 'null', run, caller: null, within: null, mayWrite: true });
  };
  const isQuarantined = () => active.find('a/wedge')?.isQuarantined === true;
  for (let n = 1; n <= 3; n += 1) {
    t.notOk(isQuarantined(), `before strike ${n}`);
    t.match((await call('wedge')).outcome, { kind: 'fault', code: /^function-(timeout|out-of-memory)$/ });
  }
  await until(isQuarantined, 'it is in quarantine');
  await t.rejects(call('wedge'), { code: 'function-quarantined' });
  t.match((await call('good')).outcome, { kind: 'value', value: '1' }, 'other functions of the plugin run');
  const shown = (await boss('GET /admin/plugins/a')).json().functions;
  t.match(shown, [
    { name: 'wedge', state: 'quarantined', error: /^It / },
    { name: 'good', state: 'active' },
  ]);
  const types = 'types=system.function.quarantined';
  const told = async () => (await boss(`GET /events?since=1-0&${types}`)).json().events;
  await until(async () => (await told()).length > 0, 'the event');
  t.match(await told(), [{ data: { details: { function: 'a/wedge', reason: shown[0].error } }, actor: null }]);
  await boss('POST /admin/plugins/a/functions/wedge/release');
  t.match((await call('wedge')).outcome, { kind: 'fault' }, 'released, it is called again');
});
