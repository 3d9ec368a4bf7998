/** OpenAPI operations of API keys. */
import { LIST_ERRORS, LIST_PARAMETERS, listResponse } from '../../openapi/list-query.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter } from '../../openapi/parameters.ts';
import { CREATE_API_KEY_BODY } from './request-schemas.ts';
import { API_KEY_SHAPE } from './response-schemas.ts';

const tag = 'admin';
const ONE = [idParameter('id', 'the key', 'apiKeyId')];

export const API_KEY_OPERATIONS = {
  list: declareOperation({
    id: 'listApiKeys',
    tag,
    summary: 'List API keys',
    parameters: LIST_PARAMETERS,
    responses: listResponse(API_KEY_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: declareOperation({
    id: 'createApiKey',
    tag,
    summary: 'Create an API key, which is shown once',
    body: jsonBody(CREATE_API_KEY_BODY),
    responses: jsonResponse('Made.', API_KEY_SHAPE, 201, ['Location']),
    errors: [...VALIDATION_ERRORS, 'reauthentication-required'],
  }),
  get: declareOperation({
    id: 'getApiKey',
    tag,
    summary: 'Get an API key, without its secret',
    parameters: ONE,
    responses: jsonResponse('The key.', API_KEY_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'key-not-found'],
  }),
  remove: declareOperation({
    id: 'deleteApiKey',
    tag,
    summary: 'Revoke an API key',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'key-not-found'],
  }),
};
