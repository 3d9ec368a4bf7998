/** What the address of a page says as a text. Addresses are written by hand, too. */

/** @returns undefined for what is absent or empty */
export function textOf(value: unknown): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : String(value);
}
