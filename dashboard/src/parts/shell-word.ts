/** An argument of a command as a POSIX shell reads it: in quotes where needed. */
export function quoted(text: string): string {
  return /^[\w:/.%-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
