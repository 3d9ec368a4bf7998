/** The format of numbers and counts, the same on all pages: `12,345 events`. */

/** @param decimals maximum digits after the decimal point */
export function numberText(value: number, decimals = 3): string {
  return value.toLocaleString('en', { maximumFractionDigits: decimals });
}

/** `1 endpoint`, `3 endpoints`. */
export function counted(count: number, word: string): string {
  return `${numberText(count)} ${word}${count === 1 ? '' : 's'}`;
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'];

/** @param bytes shown in the unit that fits: `1.5 MB` */
export function sizeText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), SIZES.length - 1);
  return `${numberText(bytes / 1000 ** power, power === 0 ? 0 : 1)} ${SIZES[power]}`;
}
