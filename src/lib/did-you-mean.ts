/** The known names nearest to a mistyped one, for hints. */

/** The hint for an unknown name: the nearest known one, or all of them if none is near. */
export function didYouMeanHint(unknown: string, known: readonly string[]): string {
  const near = nearestName(unknown, known);
  return near === null ? `Known are ${known.join(', ')}.` : `Did you mean '${near}'?`;
}

/** The nearest known name, or null if none is near. */
export function nearestName(unknown: string, known: readonly string[]): string | null {
  const text = unknown.slice(0, 40).toLowerCase();
  let best: string | null = null;
  // With more than half of the letters wrong, it is another word.
  let bound = Math.floor(Math.max(text.length, 3) / 2) + 1;
  for (const name of known) {
    const distance = editDistance(text, name.toLowerCase());
    if (distance < bound) [best, bound] = [name, distance];
  }
  return best;
}

/** Damerau-Levenshtein (optimal string alignment): insertions, deletions, substitutions and swaps of neighbors. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      row.push(best);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length] ?? 0;
}
