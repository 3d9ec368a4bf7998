/** Text from others, made safe for a terminal. */

/** A text without control characters: names, ids and logs come from others. */
export function stripControlChars(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}
