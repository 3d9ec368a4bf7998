/**
 * Reads the parts of one upload request, in the order they arrive: checks the limits and what the route expects, stores the bytes
 * of each file, and reads the fields. On failure it removes what it stored.
 */
import { once } from 'node:events';
import { pipeline, type Readable } from 'node:stream';
import { newId } from '../../database/json/ids.ts';
import { parseStrictJson } from '../../database/json/parse-json.ts';
import type { DiskSpaceMonitor } from '../../lib/disk-space.ts';
import { MillraceError } from '../../lib/errors.ts';
import { type FileKey, type FileStore, fileKey } from '../stores/file-store.ts';
import { UploadByteMeter } from './byte-meter.ts';
import type { UploadedFileInfo } from './file.ts';
import { sanitizeFileName } from './file-name.ts';
import { FormFields } from './form-fields.ts';
import { resolveMediaType } from './resolve-media-type.ts';
import type { UploadJournal } from './upload-journal.ts';

/** Parts of one request, files and fields together. */
export const MAX_MULTIPART_PARTS = 100;
export const MAX_UPLOAD_FILES = 20;
export const MAX_METADATA_BYTES = 8_192;
/** Maximum bytes of an unused text field. */
const MAX_FIELD_BYTES = 65_536;
const METADATA = 'metadata';

/** One part of a multipart body as it arrives. Its bytes must be read to the end before the next one. */
export interface MultipartPart {
  readonly field: string | undefined;
  /** Undefined for a part that is not a file; empty if no file was chosen, or the file has no name. */
  readonly fileName: string | undefined;
  readonly type: string | undefined;
  readonly bytes: Readable;
}

/** The expectation of a route: one file in `file`, or several in `files`. */
export type ExpectedFiles = 'file' | 'files';

export interface UploadDeps {
  readonly fileStore: FileStore;
  readonly marks: UploadJournal;
  readonly maxFileBytes: number;
  /** The free space of the embedded database, if the store is in it. */
  readonly space?: Pick<DiskSpaceMonitor, 'requireRoom'> | undefined;
}

/** The result of one request. Its journal entries are held until the commit or `removeStoredBytes`. */
export interface UploadBatch {
  readonly drafts: readonly UploadedFileInfo[];
  /** The client's metadata of each draft, null for none. */
  readonly metadataFields: readonly unknown[];
}

/**
 * Reads all parts. Stored bytes are removed on failure.
 * @throws MillraceError `malformed-request`, `too-many-parts`, `file-too-large`, `storage-full`, `file-store-unavailable`, and
 * those of `parseStrictJson`
 */
export async function storeUpload(
  parts: AsyncIterable<MultipartPart>,
  expected: ExpectedFiles,
  intake: UploadDeps,
): Promise<UploadBatch> {
  const drafts: UploadedFileInfo[] = [];
  const metadataFields: unknown[] = [];
  const fields = new FormFields(expected);
  try {
    for await (const part of parts) {
      if (part.fileName === undefined) {
        if (part.field === METADATA) {
          if (metadataFields.length === MAX_UPLOAD_FILES)
            throw tooManyParts(`More than ${MAX_UPLOAD_FILES} fields "metadata"`);
          metadataFields.push(await readCustom(part));
        } else fields.add(part.field, await readText(part, MAX_FIELD_BYTES));
        continue;
      }
      if (part.fileName === '' && (await isEmpty(part))) {
        fields.addEmptyFileInput();
        continue;
      }
      checkFile(part, drafts.length, expected);
      drafts.push(await storeFile(part, part.fileName, intake));
    }
    fields.requireWhole(drafts.map(({ size }) => size));
    if (drafts.length === 0) throw wrong(fields.whyNoFile(), expected);
    return { drafts, metadataFields: spread(metadataFields, drafts.length, expected) };
  } catch (error) {
    await removeStoredBytes(
      drafts.map(({ key }) => key),
      intake,
    );
    throw error;
  }
}

/** Removes stored bytes that will not become files; the rest is left to orphan cleanup. */
export async function removeStoredBytes(
  keys: readonly FileKey[],
  { fileStore, marks }: Pick<UploadDeps, 'fileStore' | 'marks'>,
): Promise<void> {
  for (const key of keys) {
    try {
      await fileStore.remove(key);
      await marks.deleteEntry(fileStore.name, key);
    } catch {
      marks.releaseLease(fileStore.name, key);
    }
  }
}

function checkFile({ field }: MultipartPart, before: number, expected: ExpectedFiles): void {
  if (field?.replace(/\[\d*\]$/, '') !== expected) {
    throw wrong(`The file is in the field '${shown(field)}'`, expected);
  }
  if (expected === 'file' && before === 1) {
    throw new MillraceError('malformed-request', 'There is more than one file', {
      hint: 'Send several files to /files/bulk, each in a field named files',
    });
  }
  if (before === MAX_UPLOAD_FILES) throw tooManyParts(`More than ${MAX_UPLOAD_FILES} files`);
}

/** Stores one file under a new key, protected by a journal entry. */
async function storeFile(part: MultipartPart, fileName: string, intake: UploadDeps): Promise<UploadedFileInfo> {
  const { fileStore, marks } = intake;
  const key = fileKey(newId().toHexString());
  const meter = new UploadByteMeter(intake.maxFileBytes, fileStore.name === 'gridfs' ? intake.space : undefined);
  const failures = failuresOf(part);
  // If one stream fails, the pipeline ends the other; the store receives the error as that of its source.
  const metered = pipeline(part.bytes, meter, () => undefined);
  try {
    const lost = await marks.recordPending(fileStore.name, key);
    await fileStore.write(key, metered, lost);
  } catch (error) {
    meter.destroy();
    await removeStoredBytes([key], intake);
    throw cutShort(error, failures);
  }
  const { type, charset } = await resolveMediaType(part.type, meter.head);
  return { key, name: sanitizeFileName(fileName), type, charset, size: meter.size, sha256: meter.digest() };
}

/** Whether a part ends without a byte, as a form input without a chosen file does. */
async function isEmpty(part: MultipartPart): Promise<boolean> {
  const { bytes } = part;
  const failures = failuresOf(part);
  try {
    for (;;) {
      const chunk: Buffer | null = bytes.read();
      if (chunk !== null) {
        bytes.unshift(chunk);
        return false;
      }
      if (bytes.readableEnded) return true;
      if (bytes.errored) throw bytes.errored;
      await Promise.race([once(bytes, 'readable'), once(bytes, 'end')]);
    }
  } catch (error) {
    throw cutShort(error, failures);
  }
}

async function readText(part: MultipartPart, most: number): Promise<Buffer> {
  const { field, bytes } = part;
  const chunks: Buffer[] = [];
  const failures = failuresOf(part);
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.length;
      if (size > most) {
        throw new MillraceError('body-too-large', `The field '${shown(field)}' can have at most ${most} bytes`);
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw cutShort(error, failures);
  }
  return Buffer.concat(chunks);
}

async function readCustom(part: MultipartPart): Promise<unknown> {
  const text = await readText(part, MAX_METADATA_BYTES);
  try {
    return parseStrictJson(text);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw error.with({ message: `In the field metadata: ${error.message}`, hint: 'Send JSON in the field metadata' });
  }
}

/** One `metadata` applies to every file; as many as there are files apply in order. */
function spread(metadataFields: readonly unknown[], files: number, expected: ExpectedFiles): readonly unknown[] {
  if (metadataFields.length === files) return metadataFields;
  if (metadataFields.length <= 1) return Array.from({ length: files }, () => metadataFields[0] ?? null);
  throw wrong(`There are ${metadataFields.length} fields "metadata" for ${files} files`, expected);
}

/**
 * Collects the errors that a part ends with. The parser may have destroyed the part before. Or it reports one error and destroys
 * the stream with a different one, so `stream.errored` can differ from the error that readers received.
 */
function failuresOf({ bytes }: MultipartPart): ReadonlySet<unknown> {
  const failures = new Set<unknown>([bytes.errored]);
  bytes.on('error', (error) => failures.add(error));
  return failures;
}

/** The error for a part whose bytes ended early, instead of the parser's own. */
function cutShort(error: unknown, failures: ReadonlySet<unknown>): unknown {
  if (error instanceof MillraceError || !failures.has(error)) return error;
  return new MillraceError('malformed-request', 'The multipart body ends too early', { cause: error });
}

function wrong(message: string, expected: ExpectedFiles): MillraceError {
  const files = expected === 'file' ? 'one file in the field file' : 'the files in fields named files';
  const metadata = expected === 'file' ? 'a field metadata' : 'a field metadata (one for all, or one for each file)';
  return new MillraceError('malformed-request', message, {
    hint: `Send multipart/form-data with ${files} and, optionally, ${metadata} with JSON`,
  });
}

/** @param message what exceeds its limit */
export function tooManyParts(message: string): MillraceError {
  return new MillraceError('too-many-parts', `${message} in one request`, {
    hint: `At most ${MAX_MULTIPART_PARTS} parts, ${MAX_UPLOAD_FILES} of them files and ${MAX_UPLOAD_FILES} fields "metadata"`,
  });
}

function shown(field: string | undefined): string {
  return (field ?? '').slice(0, 80);
}
