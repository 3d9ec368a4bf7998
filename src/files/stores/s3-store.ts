/**
 * Stores files in a bucket of any S3-compatible server. Large files are uploaded in parts, with plain commands: the upload helper
 * of the SDK settles an aborted upload while parts are still in flight. An interrupted upload leaves parts that object listings
 * do not show, so `remove` aborts those uploads too.
 */
import { addAbortSignal, Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  NoSuchUpload,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { ByteRange, FileKey, FileStore } from './file-store.ts';
import { storeUnavailable } from './file-store.ts';
import { type S3Url, storeName } from './storage-url.ts';

/** The smallest part that S3 accepts; 10,000 of them are 48 GiB, more than the maximum file size. */
const PART_BYTES = 5 * 1_048_576;
/** Connections to the server; each upload and download holds one, so that slow readers cannot exhaust all. */
const MAX_SOCKETS = 1_024;
const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;

export interface S3Settings extends S3Url {
  /** For tests; otherwise the client's default credential chain applies (environment, shared files, instance roles). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly maxSockets?: number;
}

/** Opens the store; the first call sends the first request. */
export function createS3Store(settings: S3Settings): FileStore {
  return new S3Store(settings);
}

class S3Store implements FileStore {
  readonly name: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(settings: S3Settings) {
    const { bucket, prefix, endpoint, region, pathStyle, credentials, maxSockets = MAX_SOCKETS } = settings;
    this.name = storeName({ kind: 's3', bucket, prefix, endpoint, region, pathStyle });
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#client = new S3Client({
      region,
      forcePathStyle: pathStyle,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(credentials === undefined ? {} : { credentials }),
      // Not every server supports the newer checksums; the signature already covers the bytes of each part.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      maxAttempts: 3,
      requestHandler: {
        connectionTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: IDLE_TIMEOUT_MS,
        httpAgent: { maxSockets },
        httpsAgent: { maxSockets },
      },
    });
  }

  /** Each request is awaited, also after an abort: a part in flight could arrive after `remove`. */
  async write(key: FileKey, source: Readable, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(key, inParts(addAbortSignal(signal, source)));
      signal.throwIfAborted();
    } catch (error) {
      source.destroy();
      throw signal.aborted ? signal.reason : error;
    }
  }

  async #write(key: FileKey, parts: AsyncIterable<Buffer>): Promise<void> {
    const object = this.#object(key);
    const Parts: CompletedPart[] = [];
    let UploadId: string | undefined;
    for await (const Body of parts) {
      if (UploadId === undefined) {
        if (Body.length < PART_BYTES) {
          await storing(() => this.#client.send(new PutObjectCommand({ ...object, Body })));
          return;
        }
        UploadId = (await storing(() => this.#client.send(new CreateMultipartUploadCommand(object)))).UploadId;
      }
      const PartNumber = Parts.length + 1;
      const part = new UploadPartCommand({ ...object, UploadId, PartNumber, Body });
      const { ETag } = await storing(() => this.#client.send(part));
      Parts.push({ PartNumber, ETag });
    }
    const whole = new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts } });
    await storing(() => this.#client.send(whole));
  }

  async read(key: FileKey, size: number, range?: ByteRange): Promise<Readable> {
    if (size === 0) return Readable.from([], { objectMode: false });
    const requested = range ?? { start: 0, end: size - 1 };
    const response = await storing(() =>
      this.#client.send(
        new GetObjectCommand({ ...this.#object(key), Range: `bytes=${requested.start}-${requested.end}` }),
      ),
    );
    const length = requested.end - requested.start + 1;
    const bytes = response.Body;
    if (!(bytes instanceof Readable)) throw storeUnavailable(new Error('The response has no body'));
    if (response.ContentLength !== length || response.ContentRange?.split('/')[1] !== String(size)) {
      bytes.destroy();
      throw storeUnavailable(new Error(`Object ${key} does not have ${size} bytes`));
    }
    return bytes;
  }

  async remove(key: FileKey): Promise<void> {
    const { Bucket, Key } = this.#object(key);
    const { Uploads = [] } = await storing(() =>
      this.#client.send(new ListMultipartUploadsCommand({ Bucket, Prefix: Key })),
    );
    for (const { UploadId } of Uploads.filter((upload) => upload.Key === Key)) {
      await storing(() =>
        this.#client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })).catch(unlessGone),
      );
    }
    await storing(() => this.#client.send(new DeleteObjectCommand({ Bucket, Key })));
  }

  async check(): Promise<void> {
    await storing(() => this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket })));
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #object(key: FileKey) {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${key}` };
  }
}

/** Cuts a stream into parts that share one buffer: use each part before requesting the next. */
async function* inParts(source: Readable): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(PART_BYTES);
  let filled = 0;
  let parts = 0;
  for await (const chunk of source) {
    for (let taken = 0; taken < chunk.length; ) {
      const copied = chunk.copy(buffer, filled, taken);
      taken += copied;
      filled += copied;
      if (filled < PART_BYTES) continue;
      yield buffer;
      parts++;
      filled = 0;
    }
  }
  if (filled > 0 || parts === 0) yield buffer.subarray(0, filled);
}

function unlessGone(error: unknown): void {
  if (!(error instanceof NoSuchUpload)) throw error;
}

async function storing<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw storeUnavailable(error);
  }
}
