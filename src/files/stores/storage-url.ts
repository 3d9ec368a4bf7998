/**
 * Parses `MILLRACE_FILE_STORAGE`: the stores of files. Pure. The first URL is for new files; further ones, separated by spaces,
 * are stores that still hold older files.
 */

/** One store's URL. It never contains credentials: the S3 client finds them where AWS tools do. */
export type StorageUrl = { readonly kind: 'gridfs' } | ({ readonly kind: 's3' } & S3Url);

export interface S3Url {
  readonly bucket: string;
  /** Prefix of every key, such as `millrace/`; empty for none. */
  readonly prefix: string;
  /** URL of the server; undefined for AWS itself. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Whether the bucket is in the path (most servers) or in the host name (AWS). */
  readonly pathStyle: boolean;
}

const S3_OPTIONS = new Set(['endpoint', 'region', 'path-style']);

/**
 * Parses one or several of `gridfs` or `s3://bucket[/prefix]?endpoint=URL&region=NAME&path-style=true|false`.
 * @throws Error with what is wrong and what is expected
 */
export function parseStorageUrls(text: string): readonly StorageUrl[] {
  const addresses = text.split(/\s+/).filter(Boolean).map(parseOne);
  if (addresses.length === 0) throw new Error('list at least one store: gridfs or s3://bucket?endpoint=URL');
  return addresses;
}

function parseOne(text: string): StorageUrl {
  if (text === 'gridfs') return { kind: 'gridfs' };
  if (!text.startsWith('s3://') || !URL.canParse(text)) {
    throw new Error(`'${withoutCredentials(text)}' is not a store: use gridfs or s3://bucket?endpoint=URL`);
  }
  const url = new URL(text);
  if (url.username || url.password) {
    throw new Error('credentials must not be in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname) || url.port) {
    throw new Error(`'${url.host}' is not a bucket name: 3 to 63 of a-z 0-9 . -`);
  }
  const unknown = [...url.searchParams.keys()].find((name) => !S3_OPTIONS.has(name));
  if (unknown !== undefined) throw new Error(`'${unknown}' is unknown: ${[...S3_OPTIONS].join(', ')}`);
  const endpoint = url.searchParams.get('endpoint') ?? undefined;
  if (endpoint !== undefined && !(/^https?:\/\/[^?#@\\\s]+$/.test(endpoint) && URL.canParse(endpoint))) {
    throw new Error(
      `endpoint '${withoutCredentials(endpoint)}' is not the URL of a server, such as http://127.0.0.1:9000 or ` +
        'https://example.org/storage/v1/s3',
    );
  }
  const path = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  return {
    kind: 's3',
    bucket: url.hostname,
    prefix: path === '' ? '' : `${path}/`,
    endpoint: endpoint?.replace(/\/+$/, ''),
    region: url.searchParams.get('region') ?? 'us-east-1',
    pathStyle: (url.searchParams.get('path-style') ?? String(endpoint !== undefined)) === 'true',
  };
}

/** The name of a store in documents: unique per bucket, independent of the endpoint. */
export function storeName(address: StorageUrl): string {
  return address.kind === 'gridfs' ? 'gridfs' : `s3:${address.bucket}${address.prefix ? `/${address.prefix}` : ''}`;
}

function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^@/]*@/, '//').slice(0, 80);
}
