/** The limits of one query, in one place. What is over one of them is refused by name, never cut. */
export const LIMITS = {
  /** Nested objects and lists of a filter written as JSON; the outer object is depth 1. */
  depth: 32,
  /** Values of one list: `in`, `nin`, `all`, `$and`, `$or`, `$nor`, and members of one object. */
  listValues: 1_000,
  /** Values of one list once each of the short form stands for all that it means: a number, its text, a time. */
  meantValues: 3_000,
  /** Conditions of a whole filter. */
  conditions: 1_000,
  /** Parameters of one address. */
  parameters: 1_000,
  /** What a filter may cost (cost.ts), in nanoseconds a byte: asked of the database by lists and writes… */
  cost: 30_000,
  /** … and of documents in hand: by live data, events, feeds and each policy. */
  liveCost: 2_000,
  sortKeys: 4,
  /** Documents of one page. */
  limit: 1_000,
  skip: 10_000,
  expansions: 10,
  /** Paths in `fields`. */
  fields: 1_000,
  /** UTF-16 units of a path, and its steps. */
  pathLength: 1_024,
  pathSteps: 100,
  /** UTF-16 units of a text to look for. The server's regex engine takes no more once letter case is spelled out. */
  textLength: 1_024,
  /** UTF-16 units of a pattern. */
  patternLength: 128,
  /**
   * Characters that a pattern may stand for at most, repetitions spelled out, and those of one filter together: what
   * compiling takes grows with them, and what a long text takes with both.
   */
  patternRepeats: 300,
  filterRepeats: 1_000,
  /** Bytes of the sort key that a page cursor carries: cursors travel in addresses and headers. */
  cursorKeyBytes: 2_048,
} as const;
