/**
 * Requests to Millrace: every request whose address begins with a slash goes to the installation of the connection, with its
 * API key. Requests to other addresses carry no key. Not here: what answers mean (errors.ts).
 */
import zapier, {
  type BeforeRequestMiddleware,
  type Bundle,
  type HttpResponse,
  type ZObject,
} from 'zapier-platform-core';

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/**
 * The address of an installation, without a slash at its end.
 * @param text as the user wrote it, such as `https://api.example.org/`
 * @throws zapier.errors.Error when it is no address, or the key would travel over plain http
 */
export function baseUrl(text: string | undefined): string {
  const url = URL.parse((text ?? '').trim());
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw refused('The base URL must be an address such as https://api.example.org');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw refused('The base URL must have no password, no question mark and no #, such as https://api.example.org');
  }
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw refused('The base URL must begin with https://, because the API key would not be protected on its way');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function refused(message: string): Error {
  return new zapier.errors.Error(message, 'invalid-base-url', 400);
}

/** What this app notes at its requests for the reading of their answers. */
export interface Notes {
  /** It went to Millrace. Foreign servers answer in other words. */
  readonly own?: boolean;
  /** Statuses that are answers, and no errors. */
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
  /** Statuses that are answers, and no errors. */
  readonly tolerated?: readonly (403 | 404)[];
}

/**
 * Asks Millrace. Query and body are written here, because Zapier would remove every `{{…}}` from their values.
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

/** The address of the connection's installation. */
export function baseOf(bundle: Pick<Bundle, 'authData'>): string {
  return baseUrl(bundle.authData['baseUrl']);
}
