/** A report of a fault that users met, as a check that runs against a product that was really started. */
import type { Db } from 'mongodb';

export type Mode = 'development' | 'production';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** JSON as a value, other bodies as text. */
  readonly body: ReturnType<typeof JSON.parse>;
}

export interface CallOptions {
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bearer token; null sends none. Default: the administrator's. */
  readonly token?: string | null;
}

/** A running server with an administrator, a data folder and a plugin folder of its own. */
export interface Product {
  readonly mode: Mode;
  /** Without a slash at the end. */
  readonly url: string;
  /** Its `MILLRACE_DATA_DIR`. */
  readonly folder: string;
  /** Its `MILLRACE_PLUGINS_DIR`. */
  readonly plugins: string;
  /** An access token of an administrator with the role `owner`. */
  readonly admin: string;
  readonly pid: number;
  /** The database of its documents, read and written beside the server. */
  readonly database: Db;
  /** All that it has printed so far. */
  log(): string;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
  /** Starts another one of the same mode, with an empty database. It ends with the report. */
  another(settings: Readonly<Record<string, string>>): Promise<Product>;
}

export interface Report {
  /** Section and number, such as `A1`. */
  readonly point: string;
  /** What holds, as a sentence. */
  readonly title: string;
  /** Rejects when it does not hold. */
  run(product: Product): Promise<void>;
}
