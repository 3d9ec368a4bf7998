/**
 * File operations for functions, through the same Scopes as over HTTP. Bytes are held in memory, so their number is
 * limited.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { newId } from '../../../database/json/ids.ts';
import type { Files } from '../../../files/files.ts';
import { SNIFF_BYTES } from '../../../files/upload/detect-file-type.ts';
import { sanitizeFileName } from '../../../files/upload/file-name.ts';
import { resolveMediaType } from '../../../files/upload/resolve-media-type.ts';
import { toVisibleResource, type VisibleFile } from '../../../files/visible-file.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { Policies } from '../../../policies/policies.ts';
import type { HostArguments } from '../../sandbox/host-schemas.ts';
import type { ActionContext, HostAction, HostActions } from './host-action.ts';
import { callEndedError, functionLimitError } from './host-errors.ts';
import type { OperationArgument } from './operation-argument.ts';

/** Bytes of a file that a function may read. */
const MAX_FILE_BYTES = 5 * 1_048_576;

export interface FileActionDeps {
  readonly files: Files;
  readonly policies: Policies;
  /** The public URL of this server; without it, URLs of files are relative. */
  readonly publicUrl: string | undefined;
}

type FileOperation = Extract<keyof HostArguments, `files.${string}`>;

/** @param pretends check rights only; create and remove nothing */
export function fileActions(
  { files, policies, publicUrl = '' }: FileActionDeps,
  { principal, request }: ActionContext,
  pretends: boolean,
): HostActions<FileOperation> {
  const found = (id: string): Promise<VisibleFile> => files.get(policies.scope(principal, 'get', '_files'), id);
  const shown = (file: VisibleFile): string => JSON.stringify(toVisibleResource(file, publicUrl));

  async function get(argument: OperationArgument): Promise<string> {
    try {
      return shown(await found(argument.text('id')));
    } catch (error) {
      if (error instanceof MillraceError && error.code === 'file-not-found') return 'null';
      throw error;
    }
  }

  async function bytes(argument: OperationArgument, signal: AbortSignal): Promise<Buffer> {
    const { file } = await found(argument.text('id'));
    if (file.size > MAX_FILE_BYTES) {
      throw functionLimitError(`The file has ${file.size} bytes, and a function can read at most ${MAX_FILE_BYTES}`);
    }
    const stream = await files.open(file);
    const stop = () => void stream.destroy(callEndedError());
    signal.addEventListener('abort', stop, { once: true });
    try {
      const parts: Buffer[] = [];
      for await (const part of stream) parts.push(part);
      return Buffer.concat(parts);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async function create(argument: OperationArgument, signal: AbortSignal): Promise<string> {
    const scope = policies.scope(principal, 'create', '_files');
    const name = argument.text('name');
    const type = argument.optionalText('type');
    const body = argument.bytes();
    if (body === undefined) throw new MillraceError('body-required', 'A file needs a body');
    if (pretends) return JSON.stringify(await pretended(name, type, body));
    // An empty name is a name here, not an unused form field.
    const part = { field: 'file', fileName: sanitizeFileName(name), type, bytes: Readable.from([body]) };
    const check = () => {
      if (signal.aborted) throw callEndedError();
    };
    const [file] = await files.upload(scope, only(part), 'file', { request, rights: { check } });
    if (file === undefined) throw new TypeError('An upload without a file was accepted');
    return shown(file);
  }

  async function remove(argument: OperationArgument): Promise<string> {
    const scope = policies.scope(principal, 'delete', '_files');
    if (!pretends) await files.remove(scope, argument.text('id'), request);
    return 'null';
  }

  const action = (writes: boolean, run: HostAction['run']): HostAction => ({ writes, queue: 'files', target, run });
  return {
    'files.get': action(false, get),
    'files.text': action(false, async (...requested) => JSON.stringify((await bytes(...requested)).toString())),
    'files.bytes': action(false, async (...requested) =>
      JSON.stringify((await bytes(...requested)).toString('base64')),
    ),
    'files.create': action(true, create),
    'files.remove': action(true, remove),
  };
}

async function* only<T>(one: T): AsyncGenerator<T> {
  yield one;
}

/** The document that a new file would have, with an unused id. */
async function pretended(name: string, declared: string | undefined, body: Buffer): Promise<object> {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const { type } = await resolveMediaType(declared, body.subarray(0, SNIFF_BYTES));
  return { id: newId().toHexString(), name: sanitizeFileName(name), type, size: body.length, sha256 };
}

function target({ fields: { id, name } }: OperationArgument): string {
  return String(id ?? name ?? '');
}
