/** How numbers and counts are written, in all pages alike: `12,345 events`. */

/** @param decimals at most so many places after the point */
export function numberText(value: number, decimals = 3): string {
  return value.toLocaleString('en', { maximumFractionDigits: decimals });
}

/** `1 endpoint`, `3 endpoints`. */
export function counted(count: number, word: string): string {
  return `${numberText(count)} ${word}${count === 1 ? '' : 's'}`;
}
