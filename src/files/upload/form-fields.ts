/**
 * Text fields that upload forms and libraries (FilePond, Uppy, Plupload, Dropzone and others) send with the files. They are
 * ignored, except that they reveal when a file is only one chunk of a larger one.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { MillraceError } from '../../lib/errors.ts';

/** Fields with the number of chunks of a file. */
const CHUNK_COUNTS: ReadonlySet<string> = new Set([
  'dztotalchunkcount',
  'chunks',
  'resumabletotalchunks',
  'flowtotalchunks',
  'qqtotalparts',
  'totalchunks',
  'total-chunk',
]);
/** Fields with the total bytes of a file; a chunk has fewer. */
const WHOLE_SIZES: ReadonlySet<string> = new Set([
  'dztotalfilesize',
  'resumabletotalsize',
  'flowtotalsize',
  'qqtotalfilesize',
  '_totalsize',
]);

/** The text fields of one request, apart from `metadata`. */
export class FormFields {
  readonly #expected: string;
  #expectedIsText = false;
  #unchosen = false;
  /** Plupload's `total`, which has a meaning only beside its `offset`. */
  #total: number | undefined;
  #hasOffset = false;
  #wholeSize: number | undefined;

  /** @param expected the field for files */
  constructor(expected: string) {
    this.#expected = expected;
  }

  /** @throws MillraceError `malformed-request` when the field shows that the file is a chunk */
  add(field: string | undefined, text: Buffer): void {
    const name = field?.toLowerCase() ?? '';
    const value = text.length <= 20 && /^\d+$/.test(text.toString('latin1')) ? Number(text) : undefined;
    if (field === this.#expected && text.length === 0) this.#unchosen = true;
    else if (field === this.#expected) this.#expectedIsText = true;
    if (name === 'offset') this.#hasOffset = value !== undefined;
    if (name === 'total') this.#total = value;
    if (WHOLE_SIZES.has(name)) this.#wholeSize = value;
    if (CHUNK_COUNTS.has(name) && value !== undefined && value > 1) throw isChunk();
  }

  /** Counts a form input without a chosen file. */
  addEmptyFileInput(): void {
    this.#unchosen = true;
  }

  /**
   * @param sizes of the files, in bytes
   * @throws MillraceError `malformed-request` when a field shows that the single file is a chunk
   */
  requireWhole(sizes: readonly number[]): void {
    const whole = this.#wholeSize ?? (this.#hasOffset ? this.#total : undefined);
    if (whole !== undefined && sizes.length === 1 && whole > (sizes[0] ?? 0)) throw isChunk();
  }

  /** Why the request has no file, as a sentence without a full stop. */
  whyNoFile(): string {
    if (this.#unchosen) return 'No file was chosen';
    if (this.#expectedIsText) return `The field '${this.#expected}' has no file name, so it is not a file`;
    return 'The upload contains no file';
  }
}

/**
 * Rejects a request whose headers say that it contains one chunk of a file, as jQuery File Upload and FilePond send.
 * @throws MillraceError `malformed-request`
 */
export function rejectPartialFileUpload(headers: IncomingHttpHeaders): void {
  const [, first, last, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? [];
  const isPart = total !== undefined && (Number(first) > 0 || Number(last) + 1 < Number(total));
  if (isPart || headers['upload-length'] !== undefined || headers['upload-offset'] !== undefined) throw isChunk();
}

function isChunk(): MillraceError {
  return new MillraceError('malformed-request', 'The request contains only one chunk of a file', {
    hint:
      'Send each file whole, in one request, and disable chunking: Dropzone `chunking: false`, Plupload without ' +
      '`chunk_size`, FilePond `chunkUploads: false`, jQuery File Upload without `maxChunkSize`, Fine Uploader ' +
      '`chunking: {enabled: false}`, Resumable.js and Flow.js with a `chunkSize` above the size of the file',
  });
}
