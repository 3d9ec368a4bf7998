/** The example `invoice`: totals in cents, stored in the invoice, with the rights of the caller. */
import t from 'tap';
import { exampleFixture } from '../../helpers/functions/examples-fixture.ts';
import { until } from '../../helpers/until.ts';

t.test('The example invoice adds up an invoice.', async (t) => {
  const { send, runs } = await exampleFixture(t, 'invoice');
  const lines = [
    { price: 19.99, quantity: 3 },
    { price: 0.1, quantity: 3 },
  ];
  await send('POST /api/invoices', { id: '1', taxPercent: 19, lines });
  t.match(await send('POST /fn/invoice/1/total'), {
    status: 200,
    json: { invoice: '1', net: 60.27, tax: 11.45, total: 71.72 },
  });
  t.match(await send('GET /api/invoices/1'), { json: { total: 71.72, lines, _meta: { revision: 2 } } });
  await until(async () => (await runs('succeeded')).length === 1, 'it logs, so its run is stored');

  await send('POST /api/invoices', { id: '2' });
  t.match(await send('POST /fn/invoice/2/total'), { status: 200, json: { total: 0 } }, 'without lines');
  await send('POST /api/invoices', { id: '3', lines: [lines[0], { price: 1, quantity: 0.5 }] });
  t.match(await send('POST /fn/invoice/3/total'), { status: 422, json: { line: 1 } });
  t.match(await send('GET /api/invoices/3'), { json: { total: undefined } });
  t.match(await send('POST /fn/invoice/9/total'), { status: 404, json: { error: 'There is no invoice 9' } });
  t.match(await send('GET /fn/invoice/1/total'), { status: 405 });
});
