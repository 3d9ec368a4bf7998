/**
 * A browser without a screen: follows real redirects, keeps cookies, fills in forms and sends those that a page submits
 * by itself. It shows what a server and its pages do with the rules of browsers; scripts are not run. Tests in a real
 * browser are in test/e2e.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { CookieJar } from './cookie-jar.ts';

export interface Form {
  readonly action: URL;
  readonly method: string;
  readonly fields: Readonly<Record<string, string>>;
}

export interface Page {
  /** With the fragment of the last redirect. */
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly html: string;
  readonly forms: readonly Form[];
  /** Every URL on the way, this one last. */
  readonly trail: readonly URL[];
}

export interface BrowserOptions {
  /** Origins that get no request: a page there is its URL alone, such as the app to which a user returns. */
  readonly apps?: readonly string[];
  /** A TLS proxy: the origin that the browser sees, and the http origin behind it. */
  readonly proxies?: Readonly<Record<string, string>>;
  /** Its own IPv4 address: all of 127.0.0.0/8 is this machine. */
  readonly address?: string;
}

const MAX_STEPS = 20;

export class CookieBrowser {
  readonly jar: CookieJar;
  readonly #apps: readonly string[];
  readonly #proxies: Readonly<Record<string, string>>;
  readonly #address: string | undefined;
  /** Rejected cookies, with the reasons. */
  readonly refused: string[] = [];

  constructor({ apps = [], proxies = {}, address }: BrowserOptions = {}, jar: CookieJar = new CookieJar()) {
    this.#apps = apps;
    this.#address = address;
    this.#proxies = proxies;
    this.jar = jar;
  }

  /** Goes to a URL that the user entered, or that is a link on `from`. */
  goto(url: string | URL, from: Page | null = null): Promise<Page> {
    return this.#follow(new URL(url), 'GET', undefined, from?.url ?? null);
  }

  /**
   * Sends a form of a page.
   * @param fields replace or add to the fields of the form
   * @param which the number of the form, or a part of its action
   */
  submit(page: Page, fields: Readonly<Record<string, string>> = {}, which: number | string = 0): Promise<Page> {
    const form =
      typeof which === 'number' ? page.forms[which] : page.forms.find(({ action }) => action.href.includes(which));
    if (form === undefined) throw new Error(`No such form (${which}) at ${page.url}: ${page.status} ${page.html}`);
    const body = new URLSearchParams({ ...form.fields, ...fields });
    if (form.method === 'POST') return this.#follow(form.action, 'POST', String(body), page.url);
    const url = new URL(form.action);
    url.search = String(body);
    return this.#follow(url, 'GET', undefined, page.url);
  }

  async #follow(start: URL, method: string, body: string | undefined, initiator: URL | null): Promise<Page> {
    const trail: URL[] = [];
    let [url, verb, sent] = [start, method, body];
    for (let step = 0; step < MAX_STEPS; step++) {
      trail.push(url);
      if (this.#apps.includes(url.origin)) {
        return { url, status: 0, headers: {}, html: '', forms: [], trail };
      }
      const { response, html } = await this.#request(url, verb, sent, initiator);
      const status = response.statusCode ?? 0;
      const { location } = response.headers;
      if (status < 300 || status >= 400 || location === undefined) {
        const page = { url, status, headers: response.headers, html, forms: formsOf(html, url), trail };
        return /<script[^>]*>[^<]*\.submit\(\)|onload="[^"]*submit\(\)/.test(html) ? this.#sendAlone(page) : page;
      }
      const next = new URL(location, url);
      // A fragment is kept where the redirect has none, not even an empty one (RFC 9110 section 10.2.2).
      if (!location.includes('#')) next.hash = url.hash;
      url = next;
      if (status !== 307 && status !== 308) [verb, sent] = ['GET', undefined];
    }
    throw new Error(`More than ${MAX_STEPS} redirects: ${trail.join(' → ')}`);
  }

  async #sendAlone(page: Page): Promise<Page> {
    const next = await this.submit(page);
    return { ...next, trail: [...page.trail, ...next.trail] };
  }

  async #request(url: URL, method: string, body: string | undefined, initiator: URL | null) {
    const target = this.#proxies[url.origin];
    const cookie = this.jar.header({ url, method, initiator });
    const site = initiator === null ? 'none' : initiator.origin === url.origin ? 'same-origin' : 'cross-site';
    const request = httpRequest(target === undefined ? url : new URL(`${url.pathname}${url.search}`, target), {
      method,
      ...(this.#address === undefined ? {} : { localAddress: this.#address, family: 4 }),
      headers: {
        host: url.host,
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        'user-agent': 'Mozilla/5.0 (a browser of the tests)',
        'sec-fetch-site': site,
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        ...(target === undefined ? {} : { 'x-forwarded-proto': url.protocol.slice(0, -1) }),
        ...(cookie === undefined ? {} : { cookie }),
        ...(body === undefined
          ? {}
          : {
              'content-type': 'application/x-www-form-urlencoded',
              'content-length': String(Buffer.byteLength(body)),
              origin: initiator?.origin ?? 'null',
            }),
      },
    });
    const result = new Promise<IncomingMessage>((resolve, reject) =>
      request.on('response', resolve).on('error', reject),
    );
    request.end(body);
    const response = await result;
    const html = (await buffer(response)).toString();
    this.refused.push(...this.jar.keep(url, response.headers['set-cookie'] ?? []));
    return { response, html };
  }
}

/** The forms of a page, as far as simple pages need: hidden and text fields, in any quotes. */
function formsOf(html: string, base: URL): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/gi)].map(([, head = '', inner = '']) => ({
    action: new URL(attribute(head, 'action') ?? base.href, base),
    method: (attribute(head, 'method') ?? 'get').toUpperCase(),
    fields: Object.fromEntries(
      [...inner.matchAll(/<input\b([^>]*)>/gi)].flatMap(([, input = '']) => {
        const name = attribute(input, 'name');
        return name === undefined ? [] : [[name, attribute(input, 'value') ?? '']];
      }),
    ),
  }));
}

function attribute(tag: string, name: string): string | undefined {
  const [, double, single, bare] =
    new RegExp(`\\b${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, 'i').exec(tag) ?? [];
  return (double ?? single ?? bare)
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&#x3D;', '=')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
