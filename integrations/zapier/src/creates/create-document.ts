/** Action: creates a document. */
import { type Bundle, defineCreate, type ZObject } from 'zapier-platform-core';
import { IDEMPOTENCY_FIELD, write } from '../api/writes.ts';
import { COLLECTION_FIELD, ID_FIELD } from '../fields/choices.ts';
import { fieldFields, filledIn, MORE_FIELD } from '../fields/input-fields.ts';
import { documentFields } from '../fields/output-fields.ts';
import { DOCUMENT_SAMPLE, written } from './document-result.ts';

async function perform(z: ZObject, bundle: Bundle) {
  const { collection, newId } = bundle.inputData;
  const json = { ...filledIn(bundle.inputData), ...(newId === undefined ? {} : { id: newId }) };
  const response = await write(z, bundle, ['api', String(collection)], { method: 'POST', json });
  const id = response.getHeader('location')?.split('/').at(-1);
  return written(z, bundle, response, id === undefined ? undefined : decodeURIComponent(id));
}

export const createDocument = defineCreate({
  key: 'create_document',
  noun: 'Document',
  display: { label: 'Create Document', description: 'Creates a document in a collection.' },
  operation: {
    inputFields: [
      COLLECTION_FIELD,
      {
        ...ID_FIELD,
        key: 'newId',
        label: 'New Document ID',
        required: false,
        helpText: 'Generated if empty. If a document with this ID exists, the run halts.',
      },
      fieldFields,
      MORE_FIELD,
      IDEMPOTENCY_FIELD,
    ],
    outputFields: [documentFields()],
    perform,
    sample: DOCUMENT_SAMPLE,
  },
});
