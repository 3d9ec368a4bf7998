/**
 * Results of patterns on long texts, kept for a while: a document is tested several times, each time with the same
 * patterns. The oldest texts are dropped first, so that the most recent results stay.
 */

/** UTF-16 units from which the results for a text are kept: searching a shorter one again is fast. */
const LONG = 512;
/** UTF-16 units of all texts with results; a larger text is kept alone. */
const MOST_KEPT = 8 * 1024 * 1024;

const kept = new Map<string, WeakMap<object, boolean>>();
let size = 0;

/**
 * The result of a matcher for a text, computed now or before.
 * @param matcher always returns the same result for a text
 */
export function cachedMatch(matcher: object, text: string, find: () => boolean): boolean {
  if (text.length < LONG) return find();
  const known = kept.get(text)?.get(matcher);
  if (known !== undefined) return known;
  const response = find();
  const responses = kept.get(text) ?? keepText(text);
  responses.set(matcher, response);
  return response;
}

function keepText(text: string): WeakMap<object, boolean> {
  size += text.length;
  for (const oldest of kept.keys()) {
    if (size <= MOST_KEPT) break;
    kept.delete(oldest);
    size -= oldest.length;
  }
  const responses = new WeakMap<object, boolean>();
  kept.set(text, responses);
  return responses;
}
