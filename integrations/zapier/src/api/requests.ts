/**
 * Requests to Millrace: every request whose URL begins with a slash goes to the instance of the connection, with its API key.
 * Requests to other URLs carry no key.
 */
import zapier, {
  type BeforeRequestMiddleware,
  type Bundle,
  type HttpResponse,
  type ZObject,
} from 'zapier-platform-core';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The base URL of an instance, without a trailing slash.
 * @param text as the user entered it, such as `https://api.example.org/`
 * @throws zapier.errors.Error when it is not a URL, or the key would be sent over plain http
 */
export function baseUrl(text: string | undefined): string {
  const url = URL.parse((text ?? '').trim());
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw refused('The base URL must be a URL such as https://api.example.org');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw refused('The base URL must have no password, no question mark and no #, such as https://api.example.org');
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw refused('The base URL must start with https://, because the API key would not be protected on its way');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function refused(message: string): Error {
  return new zapier.errors.Error(message, 'invalid-base-url', 400);
}

/** Options of a request that this app's middleware reads. */
export interface Notes {
  /** Sent to Millrace. Other servers have other error formats. */
  readonly own?: boolean;
  /** Statuses that are results, not errors. */
  readonly tolerated?: readonly number[];
}

/** Adds the base URL and the key. */
export const addressRequest: BeforeRequestMiddleware = (request, _z, bundle) => {
  if (!request.url.startsWith('/')) return request;
  return {
    ...request,
    url: `${baseUrl(bundle.authData['baseUrl'])}${request.url}`,
    headers: { accept: 'application/json', ...request.headers, authorization: `Bearer ${bundle.authData['apiKey']}` },
    middlewareData: { ...request.middlewareData, own: true } satisfies Notes,
  };
};

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are results, not errors. */
  readonly tolerated?: readonly (403 | 404)[];
}

/**
 * Sends a request to Millrace. Query and body are serialized here, because Zapier would remove every `{{…}}` from their values.
 * @param path segments of the path; each is encoded
 */
export function call(z: ZObject, path: readonly string[], options: Call = {}): Promise<HttpResponse> {
  const { method = 'GET', query = {}, json, headers = {}, tolerated = [] } = options;
  const search = new URLSearchParams(query).toString();
  const url = `/${path.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  return z.request({
    url,
    method,
    headers: { ...type, ...headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    skipThrowForStatus: tolerated.length > 0,
    middlewareData: { tolerated } satisfies Notes,
  });
}

/** The base URL of the connection's instance. */
export function baseOf(bundle: Pick<Bundle, 'authData'>): string {
  return baseUrl(bundle.authData['baseUrl']);
}
