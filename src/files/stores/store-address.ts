/**
 * Reads `MILLRACE_FILES`: where files are kept. Pure. The first address is for new files; further ones, separated by
 * blanks, are stores that still hold files from before a switch. Not here: opening them (open-files.ts).
 */

/** One store's address. Credentials are never part of it: the S3 client finds them where AWS tools do. */
export type StoreAddress = { readonly kind: 'gridfs' } | ({ readonly kind: 's3' } & S3Address);

export interface S3Address {
  readonly bucket: string;
  /** Put before every key, such as `millrace/`; empty for none. */
  readonly prefix: string;
  /** URL of the server; undefined for AWS itself. */
  readonly endpoint: string | undefined;
  readonly region: string;
  /** Whether the bucket stands in the path (most servers) or in the host name (AWS). */
  readonly pathStyle: boolean;
}

const S3_OPTIONS = new Set(['endpoint', 'region', 'path-style']);

/**
 * Parses `gridfs` or `s3://bucket[/prefix]?endpoint=URL&region=NAME&path-style=true|false`, one or several.
 * @throws Error whose message says what is wrong and what is expected
 */
export function parseStoreAddresses(text: string): readonly StoreAddress[] {
  const addresses = text.split(/\s+/).filter(Boolean).map(parseOne);
  if (addresses.length === 0) throw new Error('name at least one store: gridfs or s3://bucket?endpoint=URL');
  return addresses;
}

function parseOne(text: string): StoreAddress {
  if (text === 'gridfs') return { kind: 'gridfs' };
  if (!text.startsWith('s3://') || !URL.canParse(text)) {
    throw new Error(`'${withoutCredentials(text)}' is not a store: write gridfs or s3://bucket?endpoint=URL`);
  }
  const url = new URL(text);
  if (url.username || url.password) {
    throw new Error('credentials must not be in the address: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  }
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname) || url.port) {
    throw new Error(`'${url.host}' is not the name of a bucket: 3 to 63 of a-z 0-9 . -`);
  }
  const unknown = [...url.searchParams.keys()].find((name) => !S3_OPTIONS.has(name));
  if (unknown !== undefined) throw new Error(`'${unknown}' is not known: ${[...S3_OPTIONS].join(', ')}`);
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

/** The name of a store in documents: it differs between two buckets, and stays the same when the endpoint changes. */
export function storeName(address: StoreAddress): string {
  return address.kind === 'gridfs' ? 'gridfs' : `s3:${address.bucket}${address.prefix ? `/${address.prefix}` : ''}`;
}

function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^@/]*@/, '//').slice(0, 80);
}
