/** OpenAPI operations of users. */
import { adminPage, LIST_ERRORS, LIST_PARAMETERS } from '../../openapi/list-query.ts';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { idParameter, queryParameter } from '../../openapi/parameters.ts';
import { listOf } from '../../openapi/schema.ts';
import { PASSKEYS_SHAPE } from './passkey-openapi.ts';
import { CHANGE_USER, NEW_USER } from './request-schemas.ts';
import { IDENTITY_SHAPE, NAMING_ERRORS, SESSION_SHAPE, USER_SHAPE } from './response-schemas.ts';

const tag = 'admin';
const ONE = [idParameter('id', 'the account', 'userId')];

export const USERS = {
  list: operation({
    id: 'listUsers',
    tag,
    summary: 'List users',
    parameters: [
      ...LIST_PARAMETERS,
      queryParameter('kind', 'Only users of this kind.', { enum: ['user', 'admin'] }),
      queryParameter('search', 'Prefix of the user name or the e-mail address, or the whole id.'),
    ],
    responses: adminPage(USER_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: operation({
    id: 'createUser',
    tag,
    summary: 'Create a user',
    body: jsonBody(NEW_USER),
    responses: response('Made.', USER_SHAPE, 201, ['Location']),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'reauthentication-required'],
  }),
  get: operation({
    id: 'getUser',
    tag,
    summary: 'Get a user',
    parameters: ONE,
    responses: response('The user.', USER_SHAPE),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  change: operation({
    id: 'updateUser',
    tag,
    summary: 'Change the rights of a user',
    parameters: ONE,
    body: jsonBody(CHANGE_USER),
    responses: response('The changed user.', USER_SHAPE),
    errors: [...CHECKED_ERRORS, 'reauthentication-required', 'user-not-found', 'last-owner'],
  }),
  remove: operation({
    id: 'deleteUser',
    tag,
    summary: 'Delete a user',
    parameters: ONE,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'user-not-found', 'last-owner'],
  }),
  identities: operation({
    id: 'listUserIdentities',
    tag,
    summary: 'List the identities of a user',
    parameters: ONE,
    responses: response('The identities, oldest first.', listOf(IDENTITY_SHAPE)),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  removeFactor: operation({
    id: 'resetUserMfa',
    tag,
    summary: 'Remove the second factor of a user',
    description: 'For a user who has lost the device and the recovery codes.',
    parameters: ONE,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  passkeys: operation({
    id: 'listUserPasskeys',
    tag,
    summary: 'List the passkeys of a user',
    parameters: ONE,
    responses: response('The passkeys, oldest first.', PASSKEYS_SHAPE),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  removePasskeys: operation({
    id: 'deleteUserPasskeys',
    tag,
    summary: 'Remove all passkeys of a user',
    description: 'For a user who has lost the devices.',
    parameters: ONE,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'user-not-found'],
  }),
  sessions: operation({
    id: 'listUserSessions',
    tag,
    summary: 'List the sessions of a user',
    parameters: ONE,
    responses: response('The sessions, oldest first.', listOf(SESSION_SHAPE)),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  endSessions: operation({
    id: 'endUserSessions',
    tag,
    summary: 'End all sessions of a user',
    parameters: ONE,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  endSession: operation({
    id: 'endUserSession',
    tag,
    summary: 'End one session of a user',
    parameters: [...ONE, idParameter('session', 'the session', 'userSessionId')],
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'user-not-found', 'session-not-found'],
  }),
};
