/**
 * Addresses of files that need no credential, for what cannot send one: an `<img>`, a `<video>`, a link. The server signs
 * them for a while; each is kept here and given again until it is about to end. Not here: uploads (client.ts).
 */
import type { Requests } from './requests.ts';
import type { Session } from './session.ts';

export interface AddressOptions {
  /** Seconds for which a new address holds: 300 unless told, at most 3600. */
  readonly expiresIn?: number;
}

interface Signed {
  readonly url: string;
}

interface Kept {
  readonly address: Promise<string>;
  /** Until when it is given again; milliseconds since 1970. */
  readonly until: number;
}

const DEFAULT_S = 300;
/** Of its life that an address must have left: what is drawn now is loaded later. */
const LEFT_PART = 0.25;
/** Addresses that are kept. The one that was made first goes first. */
const MAX_KEPT = 1_000;

export class Files {
  readonly #requests: Requests;
  /** By the id and the time for which it holds. */
  readonly #kept = new Map<string, Kept>();

  constructor(requests: Requests, session: Session) {
    this.#requests = requests;
    // What one user may read is not given to the next.
    session.onChange(() => this.#kept.clear());
  }

  /**
   * An address of the bytes that works for everybody who has it, without a credential. Ask each time you draw: one that
   * was made before is given again, and a new one in time before it ends.
   * @throws Problem `file-not-found`, `forbidden`, `body-type` for an `expiresIn` that the server does not take
   */
  address(id: string, { expiresIn = DEFAULT_S }: AddressOptions = {}): Promise<string> {
    const key = `${expiresIn} ${id}`;
    const known = this.#kept.get(key);
    if (known !== undefined && Date.now() < known.until) return known.address;
    // Several that ask at once wait for one request; the time counts from before it, so it is never too long.
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
