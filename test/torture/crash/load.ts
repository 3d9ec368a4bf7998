/**
 * Writers that keep a server busy until it dies, and their record of sent and acknowledged writes. Half of them write
 * arrays, which the server does in transactions.
 */
import type { Random } from '../../helpers/random.ts';

const RESPONSE_MS = 60_000;

/** Documents of one request, all or nothing: one object, or the elements of an array. */
export interface Creation {
  readonly collection: string;
  /** The field `key` of each. */
  readonly keys: readonly string[];
  /** Whether the keys are the ids too; otherwise the server generates ids, and a duplicate write would show. */
  readonly named: boolean;
  acknowledged: boolean;
}

/** A document that one writer replaces repeatedly; `n` counts its replacements. */
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
  /** The suffix of this load's collections. */
  readonly round: number;
  readonly random: Random;
  /** Called after each acknowledged write with their number. */
  readonly onAcknowledged: (count: number) => void;
}

/** The response, or null if the server ended before it. */
export type ApiResponse = { readonly status: number; readonly text: string; readonly ms: number } | null;

/** The record of the writers. */
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
  /** Responses that no write should get. */
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

  /** Resolves when every writer has its last response, or none. */
  async ended(): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#writers);
  }

  async #createOne(lane: number): Promise<void> {
    const collection = `singles${this.#options.round}`;
    for (let n = 0; !this.#ended; n++) {
      const creation: Creation = { collection, keys: [`s${lane}-${n}`], named: false, acknowledged: false };
      this.creations.push(creation);
      const response = await this.#send('POST', collection, documents(creation)[0]);
      if (!this.#took(response, 201)) return;
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
      const response = await this.#send('POST', collection, documents(creation));
      if (!this.#took(response, 201)) return;
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
      const response = await this.#send('PUT', `${course.collection}/${course.id}?upsert=true`, { n: course.sent });
      if (!this.#took(response, course.sent === 1 ? 201 : 200)) return;
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

  #took(response: ApiResponse, status: number): boolean {
    if (response === null) return false;
    if (response.status === status) {
      this.acknowledged++;
      this.#options.onAcknowledged(this.acknowledged);
      return true;
    }
    this.surprises.push(`${response.status} instead of ${status}: ${response.text}`);
    return false;
  }

  #send(method: string, path: string, body?: unknown): Promise<ApiResponse> {
    return send(this.#options.url, method, path, body);
  }
}

/** The documents of a creation, as sent and repeated. */
export function documents(creation: Creation): object[] {
  const { keys, named } = creation;
  return keys.map((key) => ({ ...(named ? { id: key } : {}), key, filling: 'x'.repeat(200) }));
}

/** One request on a collection's path; null when no status came back. */
export async function send(url: string, method: string, path: string, body?: unknown): Promise<ApiResponse> {
  const started = performance.now();
  try {
    const response = await fetch(`${url}/api/${path}`, {
      method,
      signal: AbortSignal.timeout(RESPONSE_MS),
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    // The status came after the commit: if the rest is cut off, the write is acknowledged all the same.
    const text = await response.text().catch(() => '');
    return { status: response.status, text: response.ok ? text : text.slice(0, 300), ms: performance.now() - started };
  } catch {
    return null;
  }
}
