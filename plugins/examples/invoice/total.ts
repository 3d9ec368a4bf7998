/**
 * POST /fn/invoice/:id/total: adds up the lines of an invoice and stores the total in it. It acts as the caller, so it can read
 * and change only what the caller can over the API.
 */
import { type Line, totalOf } from './lib/money.ts';

interface Invoice {
  taxPercent?: number;
  lines?: Line[];
  total?: number;
}

export default (async ({ params }, ctx) => {
  const invoices = ctx.documents<Invoice>('invoices');
  const invoice = await invoices.get(params.id);
  if (invoice === null) return Response.json({ error: `There is no invoice ${params.id}` }, { status: 404 });
  const { lines = [], taxPercent = 0 } = invoice;
  const wrong = lines.findIndex(({ price, quantity }) => !(price >= 0 && Number.isInteger(quantity) && quantity > 0));
  if (wrong >= 0) {
    return Response.json({ error: 'A line needs a price and a quantity', line: wrong }, { status: 422 });
  }
  const totals = totalOf(lines, taxPercent);
  await invoices.patch(invoice.id, { total: totals.total });
  ctx.log.info(`The total of ${invoice.id} is ${totals.total}`);
  return { invoice: invoice.id, ...totals };
}) satisfies Millrace.Endpoint;
