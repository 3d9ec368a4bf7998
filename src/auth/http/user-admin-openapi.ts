/** OpenAPI operations of users. */
import { LIST_ERRORS, LIST_PARAMETERS, listResponse } from '../../openapi/list-query.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter, queryParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { PASSKEYS_SHAPE } from './passkey-openapi.ts';
import { CREATE_USER_BODY, UPDATE_USER_BODY } from './request-schemas.ts';
import { IDENTITY_SHAPE, SESSION_SHAPE, USER_INPUT_ERRORS, USER_SHAPE } from './response-schemas.ts';

const tag = 'admin';
const ONE = [idParameter('id', 'the account', 'userId')];

export const USER_OPERATIONS = {
  list: declareOperation({
    id: 'listUsers',
    tag,
    summary: 'List users',
    parameters: [
      ...LIST_PARAMETERS,
      queryParameter('kind', 'Only users of this kind.', { enum: ['user', 'admin'] }),
      queryParameter('search', 'Prefix of the user name or the e-mail address, or the whole id.'),
    ],
    responses: listResponse(USER_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: declareOperation({
    id: 'createUser',
    tag,
    summary: 'Create a user',
    body: jsonBody(CREATE_USER_BODY),
    responses: jsonResponse('Made.', USER_SHAPE, 201, ['Location']),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'reauthentication-required'],
  }),
  get: declareOperation({
    id: 'getUser',
    tag,
    summary: 'Get a user',
    parameters: ONE,
    responses: jsonResponse('The user.', USER_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  change: declareOperation({
    id: 'updateUser',
    tag,
    summary: 'Change the rights of a user',
    parameters: ONE,
    body: jsonBody(UPDATE_USER_BODY),
    responses: jsonResponse('The changed user.', USER_SHAPE),
    errors: [...VALIDATION_ERRORS, 'reauthentication-required', 'user-not-found', 'last-owner'],
  }),
  remove: declareOperation({
    id: 'deleteUser',
    tag,
    summary: 'Delete a user',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'last-owner'],
  }),
  identities: declareOperation({
    id: 'listUserIdentities',
    tag,
    summary: 'List the identities of a user',
    parameters: ONE,
    responses: jsonResponse('The identities, oldest first.', arraySchema(IDENTITY_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  removeFactor: declareOperation({
    id: 'resetUserMfa',
    tag,
    summary: 'Remove the second factor of a user',
    description: 'For a user who has lost the device and the recovery codes.',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  passkeys: declareOperation({
    id: 'listUserPasskeys',
    tag,
    summary: 'List the passkeys of a user',
    parameters: ONE,
    responses: jsonResponse('The passkeys, oldest first.', PASSKEYS_SHAPE),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  removePasskeys: declareOperation({
    id: 'deleteUserPasskeys',
    tag,
    summary: 'Remove all passkeys of a user',
    description: 'For a user who has lost the devices.',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found'],
  }),
  sessions: declareOperation({
    id: 'listUserSessions',
    tag,
    summary: 'List the sessions of a user',
    parameters: ONE,
    responses: jsonResponse('The sessions, oldest first.', arraySchema(SESSION_SHAPE)),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  endSessions: declareOperation({
    id: 'endUserSessions',
    tag,
    summary: 'End all sessions of a user',
    parameters: ONE,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  endSession: declareOperation({
    id: 'endUserSession',
    tag,
    summary: 'End one session of a user',
    parameters: [...ONE, idParameter('session', 'the session', 'userSessionId')],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found', 'session-not-found'],
  }),
};
