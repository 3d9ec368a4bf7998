/** OpenAPI operations on the caller's own user. */
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { idParameter } from '../../openapi/parameters.ts';
import { listOf } from '../../openapi/schema.ts';
import { CHANGE_ME, CHANGE_PASSWORD, FRESH } from './request-schemas.ts';
import { NAMING_ERRORS, OWN_KEY_SHAPE, SESSION_SHAPE, TICKET_SHAPE, USER_SHAPE } from './response-schemas.ts';

const tag = 'auth';

export const ACCOUNT = {
  me: operation({
    id: 'getCurrentUser',
    tag,
    summary: 'Get your own user, or the API key of the request',
    responses: response('The user; for a key, what it may know of itself.', { anyOf: [USER_SHAPE, OWN_KEY_SHAPE] }),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
  changeMe: operation({
    id: 'updateCurrentUser',
    tag,
    summary: 'Change your own user',
    description: 'A new e-mail address takes effect when the link sent to it has been opened.',
    body: jsonBody(CHANGE_ME),
    responses: response('The changed user.', USER_SHAPE),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'invalid-credentials', 'user-not-found'],
  }),
  changePassword: operation({
    id: 'changePassword',
    tag,
    summary: 'Change your password, and end your other sessions',
    body: jsonBody(CHANGE_PASSWORD),
    responses: DONE,
    errors: [...CHECKED_ERRORS, 'weak-password', 'invalid-credentials', 'user-not-found'],
  }),
  reauthentication: operation({
    id: 'reauthenticate',
    tag,
    summary: 'Reauthenticate in this session',
    description:
      'With the password, or with a code of the second factor. The session then counts as recently authenticated for 15 minutes.',
    body: jsonBody(FRESH),
    responses: DONE,
    errors: [...CHECKED_ERRORS, 'invalid-credentials', 'user-not-found'],
  }),
  logout: operation({
    id: 'logout',
    tag,
    summary: 'End this session',
    responses: DONE,
    errors: REQUEST_ERRORS,
  }),
  sessions: operation({
    id: 'listSessions',
    tag,
    summary: 'List your sessions',
    responses: response('The sessions, oldest first.', listOf(SESSION_SHAPE)),
    errors: REQUEST_ERRORS,
  }),
  endSession: operation({
    id: 'endSession',
    tag,
    summary: 'End one of your sessions',
    parameters: [idParameter('id', 'the session', 'sessionId')],
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'session-not-found'],
  }),
  ticket: operation({
    id: 'createTicket',
    tag,
    summary: 'Create a ticket, for requests that cannot have a header',
    responses: response('A ticket.', TICKET_SHAPE),
    errors: REQUEST_ERRORS,
  }),
};
