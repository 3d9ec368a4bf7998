/** The example `nightly-report`: the previous day's orders as a file, and a document that names it. */
import t from 'tap';
import { exampleFixture } from '../../helpers/functions/examples-fixture.ts';
import { ask } from '../../helpers/users.ts';

t.test('The example nightly-report reports a night.', async (t) => {
  const { app, send, call } = await exampleFixture(t, 'nightly-report');
  const orders = [
    { id: '1', date: '2026-11-23', customer: 'Ada', total: 5 },
    { id: '2', date: '2026-11-23', customer: 'Bob "B", Ltd.', total: 2.5 },
    { id: '3', date: '2026-11-24', customer: 'Eve', total: 9 },
  ];
  await send('POST /api/orders', orders);
  const { outcome, logs } = await call('report', { scheduledAt: '2026-11-24T02:00:00.000Z' });
  t.equal(outcome.kind, 'value', JSON.stringify(outcome));
  t.match(logs, [{ text: '2 orders of 2026-11-23, in total 7.5' }]);
  const [report] = (await ask(app, 'GET /api/reports')).json();
  t.match(report, { day: '2026-11-23', orders: 2, total: 7.5, _meta: { createdBy: 'nightly-report/report' } });
  const file = await app.inject(`/files/${report.file}/orders-2026-11-23.csv`);
  t.equal(file.body, 'customer,total\nAda,5\n"Bob ""B"", Ltd.",2.5\n');
  t.match(file.headers['content-type'], 'text/csv');
});

t.test('The example nightly-report also reports a night without orders, even before the first order.', async (t) => {
  const { send, call } = await exampleFixture(t, 'nightly-report');
  await call('report', { scheduledAt: '2026-11-24T02:00:00.000Z' });
  t.match(await send('GET /api/reports'), { json: [{ day: '2026-11-23', orders: 0, total: 0 }] });
});
