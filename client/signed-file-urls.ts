/**
 * Signed URLs of files, which need no credential, for elements that cannot send one: an `<img>`, a `<video>`, a link. The
 * server signs each for a limited time. A URL is kept here and returned again until it is about to expire.
 */
import type { HttpClient } from './http-client.ts';
import type { Session } from './session.ts';

export interface SignedUrlOptions {
  /** Seconds for which a new URL is valid: 300 by default, at most 3600. */
  readonly expiresIn?: number;
}

interface Signed {
  readonly url: string;
}

interface Kept {
  readonly url: Promise<string>;
  /** Until when the URL is returned again; milliseconds since 1970. */
  readonly until: number;
}

const DEFAULT_S = 300;
/** The part of its time that a URL must still have: a page may load it some time after it was drawn. */
const LEFT_PART = 0.25;
/** How many URLs are kept. The oldest goes first. */
const MAX_KEPT = 1_000;

export class Files {
  readonly #requests: HttpClient;
  /** By the file's id and the time for which the URL is valid. */
  readonly #kept = new Map<string, Kept>();

  constructor(requests: HttpClient, session: Session) {
    this.#requests = requests;
    // URLs created for one user must not be given to the next.
    session.onChange(() => this.#kept.clear());
  }

  /**
   * A URL of the file's bytes that works without a credential for everyone who has it. Call this each time you
   * draw: it returns the same URL again, and a new one in time before the old one ends.
   * @throws MillraceError `file-not-found`, `forbidden`, `invalid-body-type` for an `expiresIn` that the server does not take
   */
  createSignedUrl(id: string, { expiresIn = DEFAULT_S }: SignedUrlOptions = {}): Promise<string> {
    const key = `${expiresIn} ${id}`;
    const known = this.#kept.get(key);
    if (known !== undefined && Date.now() < known.until) return known.url;
    // Calls at the same time share one request. The time counts from before the request, so no URL is kept
    // too long.
    const begun = Date.now();
    const url = this.#sign(id, expiresIn);
    const kept: Kept = { url, until: begun + expiresIn * 1_000 * (1 - LEFT_PART) };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    url.catch(() => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    });
    return url;
  }

  async #sign(id: string, expiresIn: number): Promise<string> {
    const path = `/files/${encodeURIComponent(id)}/sign`;
    return ((await this.#requests.send('POST', path, { body: { expiresIn } })).body as Signed).url;
  }
}
