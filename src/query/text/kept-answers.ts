/**
 * What patterns found in long texts, kept for a while: a document is asked several times on its way, each time with the
 * same patterns. The oldest texts are dropped first, so that what was just found is there. Not here: the search itself
 * (automaton.ts).
 */

/** UTF-16 units from which the answers for a text are kept: searching a shorter one again is quick. */
const LONG = 512;
/** UTF-16 units of all texts with answers; a larger text is alone. */
const MOST_KEPT = 8 * 1024 * 1024;

const kept = new Map<string, WeakMap<object, boolean>>();
let size = 0;

/**
 * The answer of a matcher for a text, found now or before.
 * @param matcher always gives the same answer for a text
 */
export function answerFor(matcher: object, text: string, find: () => boolean): boolean {
  if (text.length < LONG) return find();
  const known = kept.get(text)?.get(matcher);
  if (known !== undefined) return known;
  const answer = find();
  const answers = kept.get(text) ?? keepText(text);
  answers.set(matcher, answer);
  return answer;
}

function keepText(text: string): WeakMap<object, boolean> {
  size += text.length;
  for (const oldest of kept.keys()) {
    if (size <= MOST_KEPT) break;
    kept.delete(oldest);
    size -= oldest.length;
  }
  const answers = new WeakMap<object, boolean>();
  kept.set(text, answers);
  return answers;
}
