/**
 * The pages of the dashboard as they were built for browsers. The package contains them; in a clone the start builds them
 * when they are missing or older than their sources. Not here: building them (scripts/dashboard.mjs).
 */
import { readFile, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const COMPILED = !import.meta.url.endsWith('.ts');

/** Where the built files lie. */
export const BUILT = fileURLToPath(
  new URL(COMPILED ? '../browser/dashboard/' : '../../dashboard/dist/', import.meta.url),
);

/** What the build wrote instead of the nonce of a response. */
const NONCE = /__NONCE__/g;

/** The one page of the dashboard, which shows all others. Read again when it was built anew. */
export class BuiltPage {
  #kept: { readonly changedAt: number; readonly html: string } | null = null;

  /**
   * @param nonce for the styles that the page makes, unguessable and used once
   * @returns null where it is not built
   */
  async html(nonce: string): Promise<string | null> {
    const place = `${BUILT}index.html`;
    const changedAt = await stat(place).then(
      ({ mtimeMs }) => mtimeMs,
      () => null,
    );
    if (changedAt === null) return null;
    if (this.#kept?.changedAt !== changedAt) this.#kept = { changedAt, html: await readFile(place, 'utf8') };
    return this.#kept.html.replaceAll(NONCE, nonce);
  }
}
