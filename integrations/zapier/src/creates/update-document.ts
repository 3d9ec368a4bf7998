/** Action: changes fields of a document and leaves the others unchanged (merge patch, RFC 7396). */
import { type Bundle, defineCreate, type ZObject } from 'zapier-platform-core';
import { IDEMPOTENCY_FIELD, write } from '../api/writes.ts';
import { COLLECTION_FIELD, ID_FIELD } from '../fields/choices.ts';
import { fieldFields, filledIn, MORE_FIELD } from '../fields/input-fields.ts';
import { documentFields } from '../fields/output-fields.ts';
import { DOCUMENT_SAMPLE, written } from './document-result.ts';

const MERGE_PATCH = 'application/merge-patch+json';

async function perform(z: ZObject, bundle: Bundle) {
  const { collection, id } = bundle.inputData;
  const response = await write(z, bundle, ['api', String(collection), String(id)], {
    method: 'PATCH',
    json: filledIn(bundle.inputData),
    headers: { 'content-type': MERGE_PATCH },
  });
  return written(z, bundle, response, String(id));
}

export const updateDocument = defineCreate({
  key: 'update_document',
  noun: 'Document',
  display: { label: 'Update Document', description: 'Changes fields of a document.' },
  operation: {
    inputFields: [
      COLLECTION_FIELD,
      ID_FIELD,
      fieldFields,
      {
        ...MORE_FIELD,
        helpText:
          'A JSON object with more fields to change. `null` removes one, as in `{"dueDate":null}`. Empty fields change nothing.',
      },
      IDEMPOTENCY_FIELD,
    ],
    outputFields: [documentFields()],
    perform,
    sample: DOCUMENT_SAMPLE,
  },
});
