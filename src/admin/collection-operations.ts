/** The operations on collections and their indexes as the contract describes them. Not here: the routes. */
import Type from 'typebox';
import { INDEX, INDEXES } from '../collections/index-plan.ts';
import { ASKED_ERRORS, answer, jsonBody, operation } from '../contract/operation.ts';
import { listOf, shape } from '../contract/schema.ts';
import { COLLECTION } from '../database/names.ts';
import type { ErrorCode } from '../kernel/errors.ts';

const tag = 'Running it';

/** What a rename sends. */
export const RENAME = Type.Object(
  { name: Type.String({ description: 'The new name.' }) },
  { additionalProperties: false },
);
const SUMMARY = Type.Object({ name: Type.String(), documents: Type.Integer(), bytes: Type.Integer() });
const ONE_INDEX = shape('Index', INDEX);
const NAMED: readonly ErrorCode[] = [...ASKED_ERRORS, 'invalid-name'];

export const COLLECTIONS = {
  list: operation({
    id: 'collections.list',
    tag,
    summary: 'List the collections',
    answers: answer('All of them, by name.', listOf(SUMMARY)),
    errors: ASKED_ERRORS,
  }),
  rename: operation({
    id: 'collections.rename',
    tag,
    summary: 'Rename a collection',
    parameters: [COLLECTION],
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
    answers: answer('The indexes.', listOf(ONE_INDEX)),
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
