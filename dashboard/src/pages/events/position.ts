/** Positions of the log, `<epoch>-<number>`. Pure. */

/** The number in a position `<epoch>-<number>`. */
export function numberOf(position: string): number {
  return Number(position.slice(position.indexOf('-') + 1));
}

/** A position of the same epoch with another number. */
export function withNumber(position: string, number: number): string {
  return `${position.slice(0, position.indexOf('-'))}-${number}`;
}
