/** `millrace functions run` and `logs`, as programs against a real server that runs the example `invoice`. */
import t from 'tap';
import { exampleWorld } from '../../helpers/functions/examples-world.ts';
import { runCommandLine } from '../../helpers/programs/command-line.ts';

t.test('a function is tried, and its runs are followed', async (t) => {
  const { app, send } = await exampleWorld(t, 'invoice');
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await send('POST /api/invoices', { id: '1', lines: [{ price: 2, quantity: 3 }] });

  await t.test('run shows what it did, and takes it back', async (t) => {
    const run = async (...words: readonly string[]) => {
      const command = runCommandLine(t, ['functions', 'run', 'invoice/total', ...words, '--url', url]);
      return { code: await command.ended(), output: command.output() };
    };
    const { code, output } = await run('--input', '{"params":{"id":"1"}}');
    t.equal(code, 0, output);
    t.match(output, /^Logged\n {2}info {3}The total of 1 is 6\nDid, and took back what it has written\n/);
    t.match(output, /\n {2}documents\.get +invoices\/1 +[\d.]+ ms\n {2}documents\.patch +invoices\/1 +[\d.]+ ms\n/);
    t.match(output, /\nReturned\n {2}\{\n {4}"invoice": "1",\n[\s\S]*\n\d+ ms\n$/);
    t.match(await send('GET /api/invoices/1'), { json: { total: undefined, _meta: { revision: 1 } } });
    t.notMatch((await run()).output, /destructure/, 'an endpoint gets an empty request');
    t.match(await run('--input', '{"params":{"id":"9"}}'), { code: 0, output: /There is no invoice 9/ });
    t.match(await run('--input', 'null'), { code: 1, output: /^Failed: function-failed\n[\s\S]*total\.ts:\d+:\d+/ });
  });

  await t.test('logs shows lines and ends as they happen, and Ctrl-C ends it', async (t) => {
    const command = runCommandLine(t, ['functions', 'logs', 'invoice', '--url', url]);
    await command.prints(/^Following runs at .*Ctrl-C ends it\.\n/);
    await send('POST /fn/invoice/1/total');
    await command.prints(/\n\d\d:\d\d:\d\d {2}invoice\/total +info +The total of 1 is 6\n/);
    await command.prints(/\n\d\d:\d\d:\d\d {2}invoice\/total +ok +\d+ ms\n/);
    t.equal(await command.ended('SIGINT'), 0, command.output());
  });

  await t.test('logs of a server that refuses end in one line', async (t) => {
    const command = runCommandLine(t, ['functions', 'logs', '--url', url, '--token', 'nothing']);
    t.equal(await command.ended(), 1);
    t.match(command.output(), /^GET \/admin\/runs\/live was answered with 401: /);
  });
});
