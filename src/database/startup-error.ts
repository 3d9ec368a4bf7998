/**
 * The error that ends a start. It has its own file because the program needs it before the driver is loaded.
 */

/** A MongoDB that cannot run Millrace; the message says what to do. */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase';
}
