/**
 * Runs every night at three: writes the previous day's orders as a CSV file, and a document of `reports` that names the file. A
 * missed night runs once when the server is back.
 */
const DAY_MS = 86_400_000;

interface Order {
  customer?: string;
  total?: number;
  /** The day, as 2026-11-23. */
  date?: string;
}

export default (async ({ scheduledAt }, ctx) => {
  const day = new Date(Date.parse(scheduledAt) - DAY_MS).toISOString().slice(0, 10);
  const orders = ctx.documents<Order>('orders');
  const lines = ['customer,total'];
  let total = 0;
  let cursor: string | null = null;
  do {
    const page: Millrace.Page<Millrace.Document<Order>> = await orders.list({
      filter: { date: day },
      sort: 'id',
      limit: 500,
      ...(cursor !== null && { cursor }),
    });
    for (const order of page.items) {
      lines.push(`${csv(order.customer ?? '')},${order.total ?? 0}`);
      total += order.total ?? 0;
    }
    cursor = page.next;
  } while (cursor !== null);
  const file = await ctx.files.create({ name: `orders-${day}.csv`, type: 'text/csv', body: `${lines.join('\n')}\n` });
  await ctx.documents('reports').create({ day, orders: lines.length - 1, total, file: file.id });
  ctx.log.info(`${lines.length - 1} orders of ${day}, in total ${total}`);
}) satisfies Millrace.Cron;

function csv(text: string): string {
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
