/** What programs with generated clients find at the server, and what they print. */

/** Documents that are there before the contract is read, so that the collection has types. */
export const SEEDS = [
  {
    url: '/api/todos',
    payload: [
      { title: 'Read', stars: 3, done: false, tags: ['home'], due: '2026-01-01T00:00:00Z', owner: { name: 'Ada' } },
      { title: 'Write', stars: 4, done: true, mixed: 'text', nothing: null },
      { title: 'Think', stars: 2, done: true, mixed: { a: 1 }, nothing: 1 },
    ],
  },
  { url: '/api/order_lines', payload: [{ article: 'Tea', 'unit price': 2.5, class: 'A' }] },
  { url: '/api/files', payload: [{ name: 'A collection that is named as a route' }] },
] as const;

/** The output of each program: what it listed, changed and uploaded, and the problem that it read. */
export const EXPECTED = {
  titles: ['Buy milk'],
  done: true,
  problem: { status: 412, code: 'precondition-failed' },
  file: { name: 'hello.txt', size: 5 },
  deleted: 204,
};

/** What a program has printed besides warnings of its packages; its whole text if that is no JSON. */
export function resultOf(output: string): unknown {
  try {
    return JSON.parse(/^\{.*\}$/m.exec(output)?.[0] ?? '');
  } catch {
    return output;
  }
}
