/** A text in the URL of a page. URLs are also written by hand. */

/** @returns undefined for what is absent or empty */
export function textOf(value: unknown): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : String(value);
}
