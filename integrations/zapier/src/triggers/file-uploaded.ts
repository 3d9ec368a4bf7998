/** Trigger: a file was uploaded. A REST hook for `system.file.created`; samples are the newest files. */
import { type Bundle, defineTrigger, type ZObject } from 'zapier-platform-core';
import { baseOf, call } from '../api/requests.ts';
import { FILTER_FIELD } from '../fields/choices.ts';
import { hydratedFile } from '../fields/files.ts';
import { arrived, subscribe, unsubscribe } from './hooks.ts';

const TYPE = 'system.file.created';
const SAMPLES = '10';

type Fields = Readonly<Record<string, unknown>>;

/** One format for deliveries and samples. */
function shown(z: ZObject, bundle: Bundle, event: { id: string; timestamp: unknown; file: Fields }) {
  const { id, name = 'file', type, size, sha256, createdAt, createdBy, metadata } = event.file;
  const url = `${baseOf(bundle)}/files/${id}/${encodeURIComponent(String(name))}`;
  const data = { id, url, name, type, size, sha256, createdAt, createdBy, metadata };
  return {
    id: event.id,
    type: TYPE,
    timestamp: event.timestamp,
    documentId: id,
    data,
    file: hydratedFile(z, String(id)),
  };
}

async function perform(z: ZObject, bundle: Bundle) {
  const { id, timestamp, documentId, data } = arrived(bundle);
  return [shown(z, bundle, { id, timestamp, file: { id: documentId, ...data } })];
}

async function performList(z: ZObject, bundle: Bundle) {
  const filter = bundle.inputData['filter'];
  const query = { sort: '-createdAt', limit: SAMPLES, ...(filter === undefined ? {} : { filter: String(filter) }) };
  const files: readonly Fields[] = (await call(z, ['files'], { query })).data;
  return files.map((file) => shown(z, bundle, { id: `sample_${file['id']}`, timestamp: file['createdAt'], file }));
}

export const fileUploaded = defineTrigger({
  key: 'file_uploaded',
  noun: 'File',
  display: { label: 'File Uploaded', description: 'Triggers when a file is uploaded.' },
  operation: {
    type: 'hook',
    inputFields: [{ ...FILTER_FIELD, helpText: 'Only files that match, such as `{"type":"image/png"}`.' }],
    perform,
    performList,
    performSubscribe: (z: ZObject, bundle: Bundle) => subscribe(z, bundle, TYPE),
    performUnsubscribe: unsubscribe,
    outputFields: [
      { key: 'id', label: 'Event ID', type: 'string', primary: true },
      { key: 'timestamp', label: 'Time', type: 'datetime' },
      { key: 'documentId', label: 'File ID', type: 'string' },
      { key: 'file', label: 'File', type: 'file' },
      { key: 'data__name', label: 'Name', type: 'string' },
      { key: 'data__type', label: 'Media Type', type: 'string' },
      { key: 'data__size', label: 'Size in Bytes', type: 'integer' },
      { key: 'data__url', label: 'Address', type: 'string' },
    ],
    sample: {
      id: '1-3470',
      type: TYPE,
      timestamp: '2026-01-05T08:00:00.000Z',
      documentId: '6b021d6c15e9e04fb9dd38ba',
      data: {
        id: '6b021d6c15e9e04fb9dd38ba',
        url: 'https://api.example.org/files/6b021d6c15e9e04fb9dd38ba/offer.pdf',
        name: 'offer.pdf',
        type: 'application/pdf',
        size: 10_240,
      },
      file: 'https://api.example.org/files/6b021d6c15e9e04fb9dd38ba/offer.pdf',
    },
  },
});
