/**
 * What the members of a collection's documents look like, from a sample of them. It describes and promises nothing: a
 * collection declares no shape, and the next document may be another. Pure.
 */

/** One member that was seen. */
export interface SeenMember {
  /** JSON types, the most frequent first. */
  readonly types: readonly string[];
  /** In how many documents of the sample. */
  readonly seen: number;
}

/** Members told of one collection. */
const MAX_MEMBERS = 200;

/** The members of a sample by name, in the order of their first appearance. */
export function membersOf(sample: readonly object[]): ReadonlyMap<string, SeenMember> {
  const counts = new Map<string, Map<string, number>>();
  for (const document of sample) {
    for (const [name, value] of Object.entries(document)) {
      const types = counts.get(name) ?? new Map<string, number>();
      if (!counts.has(name) && counts.size >= MAX_MEMBERS) continue;
      counts.set(name, types);
      const type = typeOf(value);
      types.set(type, (types.get(type) ?? 0) + 1);
    }
  }
  return new Map(
    [...counts].map(([name, types]) => [
      name,
      {
        types: [...types].sort((a, b) => b[1] - a[1]).map(([type]) => type),
        seen: [...types.values()].reduce((sum, count) => sum + count, 0),
      },
    ]),
  );
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value))
    return 'date-time';
  return typeof value;
}
