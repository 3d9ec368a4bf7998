/**
 * Action: uploads a file of an earlier step. Its bytes are streamed from Zapier to Millrace. Uploads do not support
 * Idempotency-Key, so they are never repeated automatically.
 */
import FormData from 'form-data';
import zapier, { type Bundle, defineCreate, type ZObject } from 'zapier-platform-core';
import { hydratedFile } from '../fields/files.ts';
import { parseObject } from '../fields/input-fields.ts';

async function perform(z: ZObject, bundle: Bundle) {
  const { file, name, metadata } = bundle.inputData;
  const more = parseObject(metadata, 'Metadata');
  const source = await z.request({ url: String(file), raw: true, skipThrowForStatus: true });
  if (source.status !== 200) {
    throw new zapier.errors.Error(
      `The file could not be read: its URL responded with ${source.status}`,
      'file-unreadable',
    );
  }
  const form = new FormData();
  form.append('file', source.body, {
    filename: String(name ?? nameOf(source.getHeader('content-disposition'), String(file))),
    contentType: source.getHeader('content-type') ?? 'application/octet-stream',
    ...lengthOf(source.getHeader('content-length'), source.getHeader('content-encoding')),
  });
  if (Object.keys(more).length > 0) form.append('metadata', JSON.stringify(more));
  const { data } = await z.request({ url: '/files', method: 'POST', body: form, headers: form.getHeaders() });
  return { ...data, file: hydratedFile(z, data.id) };
}

/** The length, known unless the bytes were compressed for transfer. */
function lengthOf(length: string | undefined | null, encoding: string | undefined | null): { knownLength?: number } {
  return length && !encoding ? { knownLength: Number(length) } : {};
}

/** The name that the source gives (RFC 6266), or the last segment of its URL. */
function nameOf(disposition: string | undefined | null, address: string): string {
  const [, extended, quoted, plain] =
    /filename\*=UTF-8''([^;\s]+)|filename="((?:[^"\\]|\\.)*)"|filename=([^;\s]+)/i.exec(disposition ?? '') ?? [];
  if (extended !== undefined) return decoded(extended);
  const given = quoted?.replace(/\\(.)/g, '$1') ?? plain;
  return given ?? (decoded(new URL(address).pathname.split('/').at(-1) ?? '') || 'file');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const uploadFile = defineCreate({
  key: 'upload_file',
  noun: 'File',
  display: { label: 'Upload File', description: 'Uploads a file.' },
  operation: {
    inputFields: [
      { key: 'file', label: 'File', type: 'file', required: true },
      {
        key: 'name',
        label: 'File Name',
        type: 'string',
        required: false,
        helpText: 'By default the name of the file.',
      },
      {
        key: 'metadata',
        label: 'Custom (JSON)',
        type: 'text',
        required: false,
        helpText: 'Metadata to store with the file, such as `{"album":7}`.',
      },
    ],
    outputFields: [
      { key: 'id', label: 'File ID', type: 'string' },
      { key: 'url', label: 'Address', type: 'string' },
      { key: 'name', label: 'Name', type: 'string' },
      { key: 'size', label: 'Size in Bytes', type: 'integer' },
      { key: 'file', label: 'File', type: 'file' },
    ],
    perform,
    sample: {
      id: '6b021d6c15e9e04fb9dd38ba',
      url: 'https://api.example.org/files/6b021d6c15e9e04fb9dd38ba/offer.pdf',
      name: 'offer.pdf',
      type: 'application/pdf',
      size: 10_240,
      file: 'https://api.example.org/files/6b021d6c15e9e04fb9dd38ba/offer.pdf',
    },
  },
});
