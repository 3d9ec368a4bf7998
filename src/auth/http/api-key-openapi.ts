/** OpenAPI operations of API keys. */
import { adminPage, LIST_ERRORS, LIST_PARAMETERS } from '../../openapi/list-query.ts';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { idParameter } from '../../openapi/parameters.ts';
import { NEW_KEY } from './request-schemas.ts';
import { API_KEY_SHAPE } from './response-schemas.ts';

const tag = 'admin';
const ONE = [idParameter('id', 'the key', 'apiKeyId')];

export const KEYS = {
  list: operation({
    id: 'listApiKeys',
    tag,
    summary: 'List API keys',
    parameters: LIST_PARAMETERS,
    responses: adminPage(API_KEY_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: operation({
    id: 'createApiKey',
    tag,
    summary: 'Create an API key, which is shown once',
    body: jsonBody(NEW_KEY),
    responses: response('Made.', API_KEY_SHAPE, 201, ['Location']),
    errors: [...CHECKED_ERRORS, 'reauthentication-required'],
  }),
  get: operation({
    id: 'getApiKey',
    tag,
    summary: 'Get an API key, without its secret',
    parameters: ONE,
    responses: response('The key.', API_KEY_SHAPE),
    errors: [...REQUEST_ERRORS, 'key-not-found'],
  }),
  remove: operation({
    id: 'deleteApiKey',
    tag,
    summary: 'Revoke an API key',
    parameters: ONE,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'key-not-found'],
  }),
};
