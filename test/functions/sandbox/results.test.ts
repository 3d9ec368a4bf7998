/** Outcomes of calls whose code returns an invalid result, or runs out of memory for an array of bytes. */
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { callOf, parsed, resultOf } from './calls.ts';

const sandbox = new IsolateSandbox({ onCrash: (call, reason) => t.fail(`${call.facts.run.function}: ${reason}`) });
t.teardown(() => sandbox.stop());
const run = (...call: Parameters<typeof callOf>) => sandbox.call(callOf(...call));

t.test('A write hook returns a document or undefined; null or a value without JSON is an error.', async (t) => {
  const before = (result: string, action = 'update') =>
    run(`export default () => ${result};`, { kind: 'beforeWrite', input: JSON.stringify([{ action }]) });
  t.match(await before('null'), {
    code: 'function-failed',
    message: 'It returned null: return the document, or undefined to leave it unchanged',
  });
  for (const result of ['NaN', 'Symbol()', '() => 1', '({ toJSON: () => null })', '({ toJSON: () => undefined })']) {
    t.match(
      await before(result),
      { code: 'function-failed', message: /^It returned a value that is not an object/ },
      result,
    );
  }
  t.strictSame(parsed(await before('undefined')), [null]);
  for (const result of ['null', 'NaN', '({ id: "a" })']) t.strictSame(parsed(await before(result, 'delete')), [null]);
});

t.test(
  'An array of bytes that does not fit into memory is an out-of-memory error, unless the code catches it.',
  async (t) => {
    const make = 'new Uint8Array(2 ** 29).length';
    const issue = { code: 'function-out-of-memory', message: 'The function used more than 64 MB of memory' };
    t.match(await run(`export default () => ${make};`), { ...issue, stack: /main\.ts:1:\d+/ });
    t.match(await run(`const all = ${make};\nexport default () => all;`), issue, 'at the top level');
    t.match(await run(`export default () => new Blob(Array(40).fill(new Uint8Array(2 ** 22))).size;`), issue, 'a Blob');
    t.equal(
      await resultOf(sandbox, `export default () => { try { return ${make}; } catch { return 'less'; } };`),
      'less',
    );
  },
);
