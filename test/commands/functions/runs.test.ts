/** `millrace functions dry-run` and `logs`, each once as a program, against a real server that runs the example `invoice`. */
import t from 'tap';
import { dryRunFunction } from '../../../src/commands/functions/dry-run.ts';
import { followFunctionLogs } from '../../../src/commands/functions/logs.ts';
import { RemoteServer } from '../../../src/commands/remote/remote.ts';
import { exampleFixture } from '../../helpers/functions/examples-fixture.ts';
import { runCommandLine } from '../../helpers/programs/command-line.ts';

t.test('A function is dry-run, and its runs are followed.', async (t) => {
  const { app, send } = await exampleFixture(t, 'invoice');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await send('POST /api/invoices', { id: '1', lines: [{ price: 2, quantity: 3 }] });

  await t.test('millrace functions dry-run shows the operations and rolls them back.', async (t) => {
    const words = ['dry-run', 'invoice/total', '--input', '{"params":{"id":"1"}}', '--url', url];
    const command = runCommandLine(t, ['functions', ...words]);
    t.equal(await command.ended(), 0, command.output());
    const output = command.output();
    t.match(output, /^Log\n {2}info {3}The total of 1 is 6\nOperations \(rolled back\)\n/);
    t.match(output, /\n {2}documents\.get +invoices\/1 +[\d.]+ ms\n {2}documents\.patch +invoices\/1 +[\d.]+ ms\n/);
    t.match(output, /\nResult\n {2}\{\n {4}"invoice": "1",\n[\s\S]*\n\d+ ms\n$/);
    t.match(await send('GET /api/invoices/1'), { json: { total: undefined, _meta: { revision: 1 } } });
    const remote = new RemoteServer(url, undefined);
    t.teardown(() => remote.close());
    const run = async (input?: unknown) => {
      const printed = t.capture(console, 'log');
      const simulation = { plugin: 'invoice', fn: 'total', input, principal: undefined, draft: null };
      const succeeded = await dryRunFunction(simulation, remote);
      const said = printed().flatMap(({ args }) => args);
      return { succeeded, said: said.join('\n') };
    };
    t.notMatch((await run()).said, /destructure/, 'an endpoint gets an empty request');
    t.match(await run({ params: { id: '9' } }), { succeeded: true, said: /There is no invoice 9/ });
    t.match(await run(null), { succeeded: false, said: /^Failed: function-failed\n[\s\S]*total\.ts:\d+:\d+/ });
  });

  await t.test('millrace functions logs shows lines and ends as they happen, and Ctrl-C ends it.', async (t) => {
    const command = runCommandLine(t, ['functions', 'logs', 'invoice', '--url', url]);
    await command.prints(/^Following runs at .*Press Ctrl-C to stop\.\n/);
    await send('POST /fn/invoice/1/total');
    await command.prints(/\n\d\d:\d\d:\d\d {2}invoice\/total +info +The total of 1 is 6\n/);
    await command.prints(/\n\d\d:\d\d:\d\d {2}invoice\/total +succeeded +\d+ ms\n/);
    t.equal(await command.ended('SIGINT'), 0, command.output());
  });

  await t.test('millrace functions logs against a server that rejects it ends in one line.', async (t) => {
    const remote = new RemoteServer(url, 'nothing');
    t.teardown(() => remote.close());
    const following = followFunctionLogs({ plugin: undefined, fn: undefined }, remote, new AbortController().signal);
    await t.rejects(following, { message: /^GET \/admin\/runs\/live failed with 401: / });
  });
});
