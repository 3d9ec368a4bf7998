/** Sums of money, computed in cents so that no digit is lost. */

export interface Line {
  price: number;
  quantity: number;
}

export function totalOf(lines: readonly Line[], taxPercent: number) {
  const net = lines.reduce((sum, { price, quantity }) => sum + Math.round(price * 100) * quantity, 0);
  const tax = Math.round((net * taxPercent) / 100);
  return { net: net / 100, tax: tax / 100, total: (net + tax) / 100 };
}
