/**
 * Addresses of files that need no credential, for elements that cannot send one: an `<img>`, a `<video>`, a link. The
 * server signs each for a limited time. An address is kept here and given out again until it is about to end. Not here:
 * uploads (client.ts).
 */
import type { Requests } from './requests.ts';
import type { Session } from './session.ts';

export interface AddressOptions {
  /** Seconds for which a new address is valid: 300 by default, at most 3600. */
  readonly expiresIn?: number;
}

interface Signed {
  readonly url: string;
}

interface Kept {
  readonly address: Promise<string>;
  /** Until when the address is given out again; milliseconds since 1970. */
  readonly until: number;
}

const DEFAULT_S = 300;
/** The part of its time that an address must still have: a page may load it some time after it was drawn. */
const LEFT_PART = 0.25;
/** How many addresses are kept. The oldest goes first. */
const MAX_KEPT = 1_000;

export class Files {
  readonly #requests: Requests;
  /** By the file's id and the time for which the address is valid. */
  readonly #kept = new Map<string, Kept>();

  constructor(requests: Requests, session: Session) {
    this.#requests = requests;
    // Addresses made for one user must not be given to the next.
    session.onChange(() => this.#kept.clear());
  }

  /**
   * An address of the file's bytes that works without a credential for everyone who has it. Call this each time you
   * draw: it returns the same address again, and a new one in time before the old one ends.
   * @throws Problem `file-not-found`, `forbidden`, `body-type` for an `expiresIn` that the server does not take
   */
  address(id: string, { expiresIn = DEFAULT_S }: AddressOptions = {}): Promise<string> {
    const key = `${expiresIn} ${id}`;
    const known = this.#kept.get(key);
    if (known !== undefined && Date.now() < known.until) return known.address;
    // Calls at the same time share one request. The time counts from before the request, so an address is never kept
    // too long.
    const begun = Date.now();
    const address = this.#sign(id, expiresIn);
    const kept: Kept = { address, until: begun + expiresIn * 1_000 * (1 - LEFT_PART) };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_KEPT) break;
      this.#kept.delete(oldest);
    }
    address.catch(() => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    });
    return address;
  }

  async #sign(id: string, expiresIn: number): Promise<string> {
    const path = `/files/${encodeURIComponent(id)}/sign`;
    return ((await this.#requests.send('POST', path, { body: { expiresIn } })).body as Signed).url;
  }
}
