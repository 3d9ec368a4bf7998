/** The operations on collections and their indexes as the contract describes them. Not here: the routes. */
import Type from 'typebox';
import { COLLECTION_KINDS } from '../collections/catalogue.ts';
import { INDEX, INDEXES } from '../collections/index-plan.ts';
import { ASKED_ERRORS, answer, jsonBody, operation } from '../contract/operation.ts';
import { pathParameter, queryParameter } from '../contract/parameters.ts';
import { listOf, shape } from '../contract/schema.ts';
import { COLLECTION } from '../database/names.ts';
import type { ErrorCode } from '../kernel/errors.ts';

const tag = 'Running it';

/** What a rename sends. */
export const RENAME = Type.Object(
  { name: Type.String({ description: 'The new name.' }) },
  { additionalProperties: false },
);
const SUMMARY = Type.Object({
  name: Type.String(),
  documents: Type.Integer({ description: 'As the database estimates. 0 for a time series and a view.' }),
  bytes: Type.Integer(),
  indexes: Type.Integer({ description: 'Besides that of the id.' }),
  kind: Type.Enum([...COLLECTION_KINDS]),
});
const COUNTED = { type: 'integer', minimum: 0 };
const SHAPE = shape('CollectionShape', {
  type: 'object',
  required: ['sampled', 'complete', 'members'],
  properties: {
    sampled: { ...COUNTED, description: 'How many documents were looked at.' },
    complete: { type: 'boolean', description: 'False if something is left out because of a limit.' },
    members: listOf({
      type: 'object',
      required: ['path', 'documents', 'types'],
      properties: {
        path: {
          type: 'string',
          description:
            'Names joined by dots; `[]` for the elements of an array, `*` for names that are values themselves.',
        },
        documents: { ...COUNTED, description: 'In how many of the sampled documents it is.' },
        types: listOf({
          type: 'object',
          required: ['type', 'documents'],
          properties: { type: { type: 'string' }, documents: COUNTED },
        }),
        format: { type: 'string', enum: ['date-time'], description: 'All its texts are times.' },
        example: { description: 'One of its values; long texts are cut.' },
        reference: {
          type: 'object',
          description: 'The collection whose documents it probably names.',
          required: ['collection'],
          properties: { collection: { type: 'string' } },
        },
      },
    }),
  },
});
const ONE_INDEX = shape('Index', INDEX);
const NAMED: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-name'];

export const COLLECTIONS = {
  list: operation({
    id: 'collections.list',
    tag,
    summary: 'List the collections',
    parameters: [
      queryParameter('reachable', 'False for collections of other programs whose names no route takes.', {
        type: 'boolean',
        default: true,
      }),
    ],
    answers: answer('All of them, by name.', listOf(SUMMARY)),
    errors: [...ASKED_ERRORS, 'unknown-parameter', 'invalid-parameter'],
  }),
  shape: operation({
    id: 'collections.shape',
    tag,
    summary: 'See what the documents of a collection look like',
    description: 'From a sample of the 500 newest documents and 500 at random. It takes two seconds at most.',
    parameters: [COLLECTION],
    answers: answer('The members that the sample has.', SHAPE),
    errors: [...NAMED, 'resource-not-available'],
  }),
  rename: operation({
    id: 'collections.rename',
    tag,
    summary: 'Rename a collection',
    description: 'Also one of another program whose name no other route takes.',
    parameters: [pathParameter('collection', 'Its name.', { type: 'string', minLength: 1 })],
    body: jsonBody(RENAME),
    answers: answer('The collection.', SUMMARY),
    errors: [...NAMED, 'resource-not-available', 'collection-exists'],
  }),
  drop: operation({
    id: 'collections.drop',
    tag,
    summary: 'Delete a collection with all that is in it',
    parameters: [COLLECTION],
    answers: { 204: { description: 'It is gone.' } },
    errors: [...NAMED, 'resource-not-available'],
  }),
  listIndexes: operation({
    id: 'indexes.list',
    tag,
    summary: 'List the indexes of a collection',
    parameters: [COLLECTION],
    answers: answer('The indexes, with their sizes and uses.', listOf(ONE_INDEX)),
    errors: [...NAMED, 'resource-not-available'],
  }),
  replaceIndexes: operation({
    id: 'indexes.replace',
    tag,
    summary: 'Set the indexes of a collection',
    description: 'The body is the whole list: what is missing is built, what is not listed is dropped.',
    parameters: [COLLECTION],
    body: jsonBody({ ...INDEXES, items: ONE_INDEX }),
    answers: answer('The indexes as they are now.', listOf(ONE_INDEX)),
    errors: [...NAMED, 'invalid-index', 'unique-violation', 'index-impossible', 'contention'],
  }),
};
