/** The operations on API keys as the contract describes them. Not here: the routes (key-routes.ts). */
import { API_KEY_SHAPE } from '../../auth/http/account-contract.ts';
import { NEW_KEY } from '../../auth/http/schema.ts';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../contract/operation.ts';
import { idParameter } from '../../contract/parameters.ts';
import { adminPage, LIST_ERRORS, LIST_PARAMETERS } from '../list-query.ts';

const tag = 'Running it';
const ONE = [idParameter('id', 'the key')];

export const KEYS = {
  list: operation({
    id: 'keys.list',
    tag,
    summary: 'List API keys',
    parameters: LIST_PARAMETERS,
    answers: adminPage(API_KEY_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: operation({
    id: 'keys.create',
    tag,
    summary: 'Make an API key, which is shown once',
    body: jsonBody(NEW_KEY),
    answers: answer('Made.', API_KEY_SHAPE, 201, ['Location']),
    errors: [...CHECKED_ERRORS, 'fresh-sign-in-required'],
  }),
  get: operation({
    id: 'keys.get',
    tag,
    summary: 'Get an API key, without its secret',
    parameters: ONE,
    answers: answer('The key.', API_KEY_SHAPE),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  remove: operation({
    id: 'keys.remove',
    tag,
    summary: 'Revoke an API key',
    parameters: ONE,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found'],
  }),
};
