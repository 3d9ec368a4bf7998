/**
 * `URL` and `URLSearchParams` inside an isolate. The runner parses URLs, exchanging text; parameter lists are kept here. Sent to
 * the isolate as text, so it references nothing outside itself.
 */

/** The parts of a URL, as the runner returns them. */
export interface UrlParts {
  readonly href: string;
  readonly origin: string;
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly host: string;
  readonly hostname: string;
  readonly port: string;
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
}

/** Properties of a URL that can be set. */
export type UrlField = Exclude<keyof UrlParts, 'origin'>;

/**
 * Runs in an isolate, before any author code.
 * @param request parses `text` against `base`, then sets one property; null for an invalid URL
 */
export function makeUrlClasses(
  request: (text: string, base: string | null, field: UrlField | null, value: string) => UrlParts | null,
): { readonly globals: Readonly<Record<string, unknown>> } {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as <T, A extends unknown[], R>(
    fn: (this: T, ...rest: A) => R,
  ) => (self: T, ...rest: A) => R;
  const replace = uncurry(String.prototype.replace as (this: string, what: RegExp, by: string) => string);
  const split = uncurry(String.prototype.split as (this: string, by: string) => string[]);
  const indexOf = uncurry(String.prototype.indexOf);
  const slice = uncurry(String.prototype.slice);
  const { isArray } = Array;
  const { keys, defineProperty } = Object;
  const [encode, decode] = [encodeURIComponent, decodeURIComponent];
  const wellFormed = uncurry(String.prototype.toWellFormed);
  type Pair = readonly [string, string];

  const decodePart = (text: string): string => {
    const spaced = replace(text, /\+/g, ' ');
    try {
      return decode(spaced);
    } catch {
      return spaced;
    }
  };

  const encodePart = (text: string): string => {
    const escaped = replace(encode(wellFormed(text)), /%20/g, '+');
    return replace(
      replace(replace(replace(replace(escaped, /!/g, '%21'), /'/g, '%27'), /\(/g, '%28'), /\)/g, '%29'),
      /~/g,
      '%7E',
    );
  };

  const parsePairs = (text: string): Pair[] => {
    const pairs: Pair[] = [];
    for (const part of split(text, '&')) {
      if (part === '') continue;
      const at = indexOf(part, '=');
      pairs[pairs.length] =
        at === -1 ? [decodePart(part), ''] : [decodePart(slice(part, 0, at)), decodePart(slice(part, at + 1))];
    }
    return pairs;
  };

  const pairsOf = (given: unknown): Pair[] => {
    if (given === undefined || given === null) return [];
    if (given instanceof URLSearchParams) return [...given];
    if (isArray(given)) return given.map((pair) => [`${pair[0]}`, `${pair[1]}`]);
    if (typeof given === 'object') {
      return keys(given).map((name) => [name, `${(given as Record<string, unknown>)[name]}`]);
    }
    const text = `${given}`;
    return parsePairs(text[0] === '?' ? slice(text, 1) : text);
  };

  class URLSearchParams {
    #pairs: Pair[];
    /** Notifies the URL of changes to its parameters. */
    #changed: ((text: string) => void) | null = null;

    constructor(given?: unknown) {
      this.#pairs = pairsOf(given);
    }
    static of(search: string, changed: (text: string) => void): URLSearchParams {
      const created = new URLSearchParams(search);
      created.#changed = changed;
      return created;
    }
    static reset(of: URLSearchParams, search: string): void {
      of.#pairs = pairsOf(search);
    }
    #set(pairs: Pair[]): void {
      this.#pairs = pairs;
      this.#changed?.(this.toString());
    }
    get size(): number {
      return this.#pairs.length;
    }
    append(name: unknown, value: unknown): void {
      this.#set([...this.#pairs, [`${name}`, `${value}`]]);
    }
    delete(name: unknown, value?: unknown): void {
      this.#set(this.#pairs.filter((pair) => pair[0] !== `${name}` || (value !== undefined && pair[1] !== `${value}`)));
    }
    get(name: unknown): string | null {
      return this.#pairs.find((pair) => pair[0] === `${name}`)?.[1] ?? null;
    }
    getAll(name: unknown): string[] {
      return this.#pairs.filter((pair) => pair[0] === `${name}`).map((pair) => pair[1]);
    }
    has(name: unknown, value?: unknown): boolean {
      return this.#pairs.some((pair) => pair[0] === `${name}` && (value === undefined || pair[1] === `${value}`));
    }
    set(name: unknown, value: unknown): void {
      const at = this.#pairs.findIndex((pair) => pair[0] === `${name}`);
      const kept = this.#pairs.filter((pair, index) => pair[0] !== `${name}` || index === at);
      if (at === -1) kept.push([`${name}`, `${value}`]);
      else kept[at] = [`${name}`, `${value}`];
      this.#set(kept);
    }
    sort(): void {
      this.#set([...this.#pairs].sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)));
    }
    forEach(callback: (value: string, name: string, all: URLSearchParams) => void): void {
      for (const [name, value] of this.#pairs) callback(value, name, this);
    }
    keys(): Iterable<string> {
      return this.#pairs.map((pair) => pair[0]).values();
    }
    values(): Iterable<string> {
      return this.#pairs.map((pair) => pair[1]).values();
    }
    entries(): IterableIterator<[string, string]> {
      return this.#pairs.map(([name, value]): [string, string] => [name, value]).values();
    }
    [Symbol.iterator](): IterableIterator<[string, string]> {
      return this.entries();
    }
    toString(): string {
      let text = '';
      for (const [name, value] of this.#pairs)
        text += `${text === '' ? '' : '&'}${encodePart(name)}=${encodePart(value)}`;
      return text;
    }
  }
  const { of, reset } = URLSearchParams;
  // For the class URL alone.
  for (const name of ['of', 'reset']) Reflect.deleteProperty(URLSearchParams, name);

  class URL {
    #parts: UrlParts;
    #params: URLSearchParams | null = null;

    constructor(given: unknown, base?: unknown) {
      const parts = request(`${given}`, base === undefined ? null : `${base}`, null, '');
      if (parts === null) throw new TypeError(`Invalid URL: ${slice(`${given}`, 0, 200)}`);
      this.#parts = parts;
    }
    static canParse(given: unknown, base?: unknown): boolean {
      return request(`${given}`, base === undefined ? null : `${base}`, null, '') !== null;
    }
    static part(url: URL, field: keyof UrlParts): string {
      return url.#parts[field];
    }
    static change(url: URL, field: UrlField, value: string): void {
      const parts = request(url.#parts.href, null, field, value);
      if (parts === null) throw new TypeError('Invalid URL');
      url.#parts = parts;
      if (url.#params !== null) reset(url.#params, parts.search);
    }
    get searchParams(): URLSearchParams {
      this.#params ??= of(this.#parts.search, (text) => {
        this.#parts = request(this.#parts.href, null, 'search', text) ?? this.#parts;
      });
      return this.#params;
    }
    toString(): string {
      return this.#parts.href;
    }
    toJSON(): string {
      return this.#parts.href;
    }
  }
  const { part, change } = URL;
  for (const name of ['part', 'change']) Reflect.deleteProperty(URL, name);
  const settable = [
    'href',
    'protocol',
    'username',
    'password',
    'host',
    'hostname',
    'port',
    'pathname',
    'search',
    'hash',
  ] as const;
  for (const field of settable) {
    defineProperty(URL.prototype, field, {
      enumerable: true,
      get(this: URL) {
        return part(this, field);
      },
      set(this: URL, value: unknown) {
        change(this, field, `${value}`);
      },
    });
  }
  defineProperty(URL.prototype, 'origin', {
    enumerable: true,
    get(this: URL) {
      return part(this, 'origin');
    },
  });
  return { globals: { URL, URLSearchParams } };
}
