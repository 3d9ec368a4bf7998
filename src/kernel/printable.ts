/** Texts of others as they may be shown in a terminal. Pure. */

/** A text without characters that change the terminal: names, ids and logs are made by others. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}
