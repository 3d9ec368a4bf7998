/**
 * Writers that keep a server busy until it dies, and what they remember: what they sent and what was acknowledged. Half
 * of them write arrays, which the server does in transactions. Not here: killing, and judging what is left (crash.test.ts).
 */
import type { Random } from '../../helpers/random.ts';

const ANSWER_MS = 60_000;

/** Documents of one request, all or nothing: one object, or the elements of an array. */
export interface Creation {
  readonly collection: string;
  /** The member `key` of each. */
  readonly keys: readonly string[];
  /** Whether the keys are the ids too; otherwise the server gives ids, and a write done twice would show. */
  readonly named: boolean;
  acknowledged: boolean;
}

/** A document that one writer replaces again and again; `n` counts its replacements. */
export interface Course {
  readonly collection: string;
  readonly id: string;
  sent: number;
  acknowledged: number;
}

/** A document that was created and then deleted. */
export interface Removal {
  readonly collection: string;
  readonly id: string;
  /** The deletion: not sent, sent, acknowledged. */
  state: 'present' | 'sent' | 'gone';
}

export interface LoadOptions {
  readonly url: string;
  /** Ends every name of this load's collections. */
  readonly round: number;
  readonly random: Random;
  /** Told after each acknowledged write how many there are. */
  readonly onAcknowledged: (count: number) => void;
}

/** What was answered, or null when the server went away before it answered. */
export type Answer = { readonly status: number; readonly text: string; readonly ms: number } | null;

/** What writers remember. */
export interface Memory {
  readonly creations: readonly Creation[];
  readonly courses: readonly Course[];
  readonly removals: readonly Removal[];
  readonly surprises: readonly string[];
  /** Acknowledged writes. */
  readonly acknowledged: number;
}

export class Load implements Memory {
  readonly creations: Creation[] = [];
  readonly courses: Course[] = [];
  readonly removals: Removal[] = [];
  /** Answers that no write should get. */
  readonly surprises: string[] = [];
  acknowledged = 0;
  readonly #options: LoadOptions;
  readonly #writers: Promise<void>[];
  #ended = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    const lanes = [0, 1, 2];
    this.#writers = [
      ...[0, 1, 2, 3, 4, 5].map((lane) => this.#createMany(lane)),
      ...lanes.map((lane) => this.#createOne(lane)),
      ...lanes.map((lane) => (lane < 2 ? this.#replace(lane) : this.#remove())),
    ];
  }

  /** Resolves when every writer has seen its last answer, or none. */
  async ended(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#writers);
  }

  async #createOne(lane: number): Promise<void> {
    const collection = `singles${this.#options.round}`;
    for (let n = 0; !this.#ended; n++) {
      const creation: Creation = { collection, keys: [`s${lane}-${n}`], named: false, acknowledged: false };
      this.creations.push(creation);
      const answer = await this.#send('POST', collection, documents(creation)[0]);
      if (!this.#took(answer, 201)) return;
      creation.acknowledged = true;
    }
  }

  async #createMany(lane: number): Promise<void> {
    const collection = `arrays${this.#options.round}`;
    for (let group = 0; !this.#ended; group++) {
      const size = 20 + this.#options.random.below(300);
      const keys = Array.from({ length: size }, (_, index) => `a${lane}-${group}-${index}`);
      const creation: Creation = { collection, keys, named: lane % 2 === 0, acknowledged: false };
      this.creations.push(creation);
      const answer = await this.#send('POST', collection, documents(creation));
      if (!this.#took(answer, 201)) return;
      creation.acknowledged = true;
    }
  }

  async #replace(lane: number): Promise<void> {
    const course: Course = {
      collection: `courses${this.#options.round}`,
      id: `c${lane}`,
      sent: 0,
      acknowledged: 0,
    };
    this.courses.push(course);
    while (!this.#ended) {
      course.sent++;
      const answer = await this.#send('PUT', `${course.collection}/${course.id}?upsert=true`, { n: course.sent });
      if (!this.#took(answer, course.sent === 1 ? 201 : 200)) return;
      course.acknowledged = course.sent;
    }
  }

  async #remove(): Promise<void> {
    const collection = `removals${this.#options.round}`;
    for (let n = 0; !this.#ended; n++) {
      const id = `r${n}`;
      if (!this.#took(await this.#send('POST', collection, { id }), 201)) return;
      const removal: Removal = { collection, id, state: 'present' };
      this.removals.push(removal);
      if (this.#ended) return;
      removal.state = 'sent';
      if (!this.#took(await this.#send('DELETE', `${collection}/${id}`), 204)) return;
      removal.state = 'gone';
    }
  }

  #took(answer: Answer, status: number): boolean {
    if (answer === null) return false;
    if (answer.status === status) {
      this.acknowledged++;
      this.#options.onAcknowledged(this.acknowledged);
      return true;
    }
    this.surprises.push(`${answer.status} instead of ${status}: ${answer.text}`);
    return false;
  }

  #send(method: string, path: string, body?: unknown): Promise<Answer> {
    return send(this.#options.url, method, path, body);
  }
}

/** The documents of a creation, as they were and will be sent. */
export function documents(creation: Creation): object[] {
  const { keys, named } = creation;
  return keys.map((key) => ({ ...(named ? { id: key } : {}), key, filling: 'x'.repeat(200) }));
}

/** One request on a collection's path; null when no status came back. */
export async function send(url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const started = performance.now();
  try {
    const answer = await fetch(`${url}/api/${path}`, {
      method,
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    // The status came after the commit: what follows may break off and the write is acknowledged all the same.
    const text = await answer.text().catch(() => '');
    return { status: answer.status, text: answer.ok ? text : text.slice(0, 300), ms: performance.now() - started };
  } catch {
    return null;
  }
}
