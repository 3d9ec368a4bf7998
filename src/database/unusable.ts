/**
 * The error that ends a start: it has a file of its own because the process must know it before the driver is loaded.
 */

/** A MongoDB that cannot carry Millrace; the message says what to do. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
}
