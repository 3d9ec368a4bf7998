/** Action: deletes a document. */
import { type Bundle, defineCreate, type ZObject } from 'zapier-platform-core';
import { write } from '../api/writes.ts';
import { COLLECTION_FIELD, ID_FIELD } from '../fields/choices.ts';
import { documentFields } from '../fields/output-fields.ts';
import { DOCUMENT_SAMPLE } from './document-result.ts';

async function perform(z: ZObject, bundle: Bundle) {
  const { collection, id } = bundle.inputData;
  const { data } = await write(z, bundle, ['api', String(collection), String(id)], {
    method: 'DELETE',
    headers: { prefer: 'return=representation' },
  });
  return { id, deleted: true, document: data ?? null };
}

export const deleteDocument = defineCreate({
  key: 'delete_document',
  noun: 'Document',
  display: { label: 'Delete Document', description: 'Deletes a document.' },
  operation: {
    inputFields: [COLLECTION_FIELD, ID_FIELD],
    outputFields: [
      { key: 'id', label: 'Document ID', type: 'string' },
      { key: 'deleted', label: 'Deleted', type: 'boolean' },
      documentFields('document'),
    ],
    perform,
    sample: { id: 'soup', deleted: true, document: DOCUMENT_SAMPLE },
  },
});
