/** What a call ends with when its code returns what cannot be a result, or finds no memory for an array of bytes. */
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { callOf, parsed, resultOf } from './calls.ts';

const sandbox = new IsolateSandbox({ onStrike: (call, reason) => t.fail(`${call.facts.run.function}: ${reason}`) });
t.teardown(() => sandbox.stop());
const run = (...call: Parameters<typeof callOf>) => sandbox.call(callOf(...call));

t.test('a before returns a document or undefined, and null or another value without JSON is a fault', async (t) => {
  const before = (result: string, action = 'update') =>
    run(`export default () => ${result};`, { kind: 'before', input: JSON.stringify([{ action }]) });
  t.match(await before('null'), {
    code: 'function-failed',
    message: 'It returned null: return the document, or undefined to leave it as it is',
  });
  for (const result of ['NaN', 'Symbol()', '() => 1', '({ toJSON: () => null })', '({ toJSON: () => undefined })']) {
    t.match(await before(result), { code: 'function-failed', message: /^It returned no object/ }, result);
  }
  t.strictSame(parsed(await before('undefined')), [null]);
  for (const result of ['null', 'NaN', '({ id: "a" })']) t.strictSame(parsed(await before(result, 'delete')), [null]);
});

t.test('an array of bytes for which there is no memory is a fault of memory, unless the code catches it', async (t) => {
  const make = 'new Uint8Array(2 ** 29).length';
  const fault = { code: 'function-out-of-memory', message: 'The function used more than 64 MB of memory' };
  t.match(await run(`export default () => ${make};`), { ...fault, stack: /main\.ts:1:\d+/ });
  t.match(await run(`const all = ${make};\nexport default () => all;`), fault, 'at the top level');
  t.match(await run(`export default () => new Blob(Array(40).fill(new Uint8Array(2 ** 22))).size;`), fault, 'a Blob');
  t.equal(
    await resultOf(sandbox, `export default () => { try { return ${make}; } catch { return 'less'; } };`),
    'less',
  );
});
