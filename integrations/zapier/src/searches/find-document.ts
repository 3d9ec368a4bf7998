/** Search: finds the newest document that matches, by a member, a filter, or both. */
import zapier, { type Bundle, defineSearch, type PlainInputField, type ZObject } from 'zapier-platform-core';
import { call } from '../api/requests.ts';
import { DOCUMENT_SAMPLE } from '../creates/document-result.ts';
import { COLLECTION_FIELD, FILTER_FIELD } from '../fields/choices.ts';
import { withFiles } from '../fields/files.ts';
import { parseObject } from '../fields/input-fields.ts';
import { documentFields } from '../fields/output-fields.ts';
import { chosenMembers } from '../fields/schema.ts';

/** A collection that has no document yet has none that matches, so that find-or-create makes its first one. */
async function perform(z: ZObject, bundle: Bundle) {
  const { collection, member, value, filter } = bundle.inputData;
  const conditions = parseObject(filter, 'Filter');
  const hasMember = member !== undefined && value !== undefined;
  if (!hasMember && Object.keys(conditions).length === 0) {
    throw new zapier.errors.Error('Say what to find: a member and its value, or a filter', 'nothing-to-find', 400);
  }
  const query = {
    sort: '-_meta.createdAt',
    limit: '1',
    ...(hasMember ? { [`${member}[eq]`]: String(value) } : {}),
    filter: JSON.stringify(conditions),
  };
  const { status, data } = await call(z, ['api', String(collection)], { query, tolerated: [404] });
  const found: readonly Readonly<Record<string, unknown>>[] = status === 200 ? data : [];
  return found.map((document) => ({ ...withFiles(z, bundle, document), id: String(document['id']) }));
}

/** The members of the chosen collection in a list to choose from; a text field as long as none is known. */
async function memberChoice(z: ZObject, bundle: Bundle): Promise<PlainInputField[]> {
  const members = await chosenMembers(z, bundle);
  const paths = members.filter(({ kind }) => kind !== 'json').map(({ path }) => path.join('.'));
  return [
    {
      key: 'member',
      label: 'Member',
      type: 'string',
      required: false,
      helpText: 'The member by which the document is found, such as `email` or `address.city`.',
      ...(paths.length === 0 ? {} : { choices: paths }),
    },
  ];
}

export const findDocument = defineSearch({
  key: 'find_document',
  noun: 'Document',
  display: { label: 'Find Document', description: 'Finds a document by the value of a member, or by a filter.' },
  operation: {
    inputFields: [
      COLLECTION_FIELD,
      memberChoice,
      {
        key: 'value',
        label: 'Value',
        type: 'string',
        required: false,
        helpText: 'The value of the member. If several documents match, the newest is found.',
      },
      FILTER_FIELD,
    ],
    outputFields: [documentFields()],
    perform,
    sample: DOCUMENT_SAMPLE,
  },
});
