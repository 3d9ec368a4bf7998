/**
 * Keeps files in a bucket of any server that speaks S3. Large files are uploaded in parts, by plain
 * commands: the upload helper of the SDK settles an aborted upload while parts are still in flight. An interrupted upload leaves
 * parts that no listing of objects shows, so `remove` aborts those uploads too. Not here: the address
 * (store-address.ts) and credentials, which the client finds at the usual places of AWS tools.
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
import { type S3Address, storeName } from './store-address.ts';

/** The smallest part S3 takes; 10,000 of them are 48 GiB, more than a file may have. */
const PART_BYTES = 5 * 1_048_576;
/** Connections to the server; each upload and each download holds one, so a slow reader must not be able to take all. */
const MAX_SOCKETS = 1_024;
const CONNECT_TIMEOUT_MS = 5_000;
const IDLE_TIMEOUT_MS = 60_000;

export interface S3Settings extends S3Address {
  /** For tests; without them the client's own search applies (environment, shared files, instance roles). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly maxSockets?: number;
}

/** Opens the store; nothing is sent to the server before the first call. */
export function openS3Store(settings: S3Settings): FileStore {
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
      // Not every server knows the newer checksums; the signature covers the bytes of each part already.
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

  /** Each request is awaited, also after an abort: a part still in flight could land after `remove` has been there. */
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
    const wanted = range ?? { start: 0, end: size - 1 };
    const answer = await storing(() =>
      this.#client.send(new GetObjectCommand({ ...this.#object(key), Range: `bytes=${wanted.start}-${wanted.end}` })),
    );
    const length = wanted.end - wanted.start + 1;
    const bytes = answer.Body;
    if (!(bytes instanceof Readable)) throw storeUnavailable(new Error('The answer has no body'));
    if (answer.ContentLength !== length || answer.ContentRange?.split('/')[1] !== String(size)) {
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

/** Cuts a stream into parts that share one buffer: use each part before asking for the next. */
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
