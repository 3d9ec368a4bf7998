/** The field that selects a collection, and fields that many forms share. */
import type { PlainInputField } from 'zapier-platform-core';

export const COLLECTION_FIELD = {
  key: 'collection',
  label: 'Collection',
  type: 'string',
  required: true,
  dynamic: 'collections.id.name',
  altersDynamicFields: true,
  helpText:
    'The collections that the key can read. You can also enter a name; a collection exists from its first document on.',
} as const satisfies PlainInputField;

export const ID_FIELD = {
  key: 'id',
  label: 'Document ID',
  type: 'string',
  required: true,
} as const satisfies PlainInputField;

export const FILTER_FIELD = {
  key: 'filter',
  label: 'Filter (JSON)',
  type: 'text',
  required: false,
  helpText:
    'Only documents that match, in the query language of Millrace, such as `{"status":"paid","total":{"$gte":100}}`.',
} as const satisfies PlainInputField;
