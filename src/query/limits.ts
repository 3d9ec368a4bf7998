/** The limits of one query. Exceeding one is an error that names it; nothing is truncated. */
export const QUERY_LIMITS = {
  /** Nested objects and lists of a filter written as JSON; the outer object is depth 1. */
  depth: 32,
  /** Values of one list: `in`, `nin`, `all`, `$and`, `$or`, `$nor`, and fields of one object. */
  listValues: 1_000,
  /** Values of one list after each short value was replaced by all its meanings: a number, its text, a time. */
  meantValues: 3_000,
  /** Conditions of a whole filter. */
  conditions: 1_000,
  /** Parameters of one URL. */
  parameters: 1_000,
  /**
   * Maximum cost of a filter (evaluate/filter-cost.ts), in nanoseconds per byte: for lists and writes, which the database
   * evaluates…
   */
  cost: 30_000,
  /** … and for filters that run in memory: live data, events, feeds and each policy. */
  liveCost: 2_000,
  sortKeys: 4,
  /** Steps of a path to sort by, and of one with a name in `['…']`: their expressions nest, which the database limits. */
  nestedSteps: 10,
  /** Documents of one page. */
  limit: 1_000,
  skip: 10_000,
  expansions: 10,
  /** Paths in `fields`. */
  fields: 1_000,
  /** UTF-16 units of a path, and its steps. */
  pathLength: 1_024,
  pathSteps: 100,
  /**
   * UTF-16 units of a text to search for. The server's regex engine accepts no more once letter case is spelled out.
   */
  textLength: 1_024,
  /** UTF-16 units of a pattern. */
  patternLength: 128,
  /**
   * Maximum characters that a pattern may match, with repetitions spelled out; also the bound for all patterns of one
   * filter together. The time to compile grows with them, and the time to search a long text with them and the text.
   */
  patternRepeats: 300,
  /** Steps of the automaton of a pattern: its characters with repetitions spelled out, alternatives and assertions. */
  patternSteps: 1_000,
  filterRepeats: 1_000,
  /** Bytes of the sort key in a page cursor: cursors are part of URLs and headers. */
  cursorKeyBytes: 2_048,
} as const;
