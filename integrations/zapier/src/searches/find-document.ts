/** Search: finds the newest matching document, by a field, a filter, or both. */
import zapier, { type Bundle, defineSearch, type PlainInputField, type ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';
import { DOCUMENT_SAMPLE } from '../creates/document-result.ts';
import { COLLECTION_FIELD, FILTER_FIELD } from '../fields/choices.ts';
import { withFiles } from '../fields/files.ts';
import { parseObject } from '../fields/input-fields.ts';
import { documentFields } from '../fields/output-fields.ts';
import { chosenFields } from '../fields/schema.ts';

/** A collection without documents has no match, so that find-or-create creates its first one. */
async function perform(z: ZObject, bundle: Bundle) {
  const { collection, field, value, filter } = bundle.inputData;
  const conditions = parseObject(filter, 'Filter');
  const hasField = field !== undefined && value !== undefined;
  if (!hasField && Object.keys(conditions).length === 0) {
    throw new zapier.errors.Error('Enter what to find: a field and its value, or a filter', 'nothing-to-find', 400);
  }
  const query = {
    sort: '-_meta.createdAt',
    limit: '1',
    ...(hasField ? { [`${field}[eq]`]: String(value) } : {}),
    filter: JSON.stringify(conditions),
  };
  const { status, data } = await call(z, ['api', String(collection)], { query, tolerated: [404] });
  const found: readonly Readonly<Record<string, unknown>>[] = status === 200 ? data : [];
  return found.map((document) => ({ ...withFiles(z, bundle, document), id: String(document['id']) }));
}

/** The fields of the chosen collection as a drop-down list; a text field if none is known. */
async function fieldChoice(z: ZObject, bundle: Bundle): Promise<PlainInputField[]> {
  const fields = await chosenFields(z, bundle);
  const paths = fields.filter(({ kind }) => kind !== 'json').map(({ path }) => path.join('.'));
  return [
    {
      key: 'field',
      label: 'Field',
      type: 'string',
      required: false,
      helpText: 'The field by which the document is found, such as `email` or `address.city`.',
      ...(paths.length === 0 ? {} : { choices: paths }),
    },
  ];
}

export const findDocument = defineSearch({
  key: 'find_document',
  noun: 'Document',
  display: { label: 'Find Document', description: 'Finds a document by the value of a field, or by a filter.' },
  operation: {
    inputFields: [
      COLLECTION_FIELD,
      fieldChoice,
      {
        key: 'value',
        label: 'Value',
        type: 'string',
        required: false,
        helpText: 'The value of the field. If several documents match, the newest is found.',
      },
      FILTER_FIELD,
    ],
    outputFields: [documentFields()],
    perform,
    sample: DOCUMENT_SAMPLE,
  },
});
