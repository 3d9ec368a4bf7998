/** OpenAPI operations on the caller's own user. */
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { idParameter } from '../../openapi/parameters.ts';
import { arraySchema } from '../../openapi/schema.ts';
import { CHANGE_PASSWORD_BODY, REAUTHENTICATE_BODY, UPDATE_CURRENT_USER_BODY } from './request-schemas.ts';
import {
  CURRENT_API_KEY_SHAPE,
  SESSION_SHAPE,
  TICKET_SHAPE,
  USER_INPUT_ERRORS,
  USER_SHAPE,
} from './response-schemas.ts';

const tag = 'auth';

export const CURRENT_USER_OPERATIONS = {
  me: declareOperation({
    id: 'getCurrentUser',
    tag,
    summary: 'Get your own user, or the API key of the request',
    responses: jsonResponse('The user; for a key, what it may know of itself.', {
      anyOf: [USER_SHAPE, CURRENT_API_KEY_SHAPE],
    }),
    errors: [...QUERY_PARAMETER_ERRORS, 'user-not-found'],
  }),
  changeMe: declareOperation({
    id: 'updateCurrentUser',
    tag,
    summary: 'Change your own user',
    description: 'A new e-mail address takes effect when the link sent to it has been opened.',
    body: jsonBody(UPDATE_CURRENT_USER_BODY),
    responses: jsonResponse('The changed user.', USER_SHAPE),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'invalid-credentials', 'user-not-found'],
  }),
  changePassword: declareOperation({
    id: 'changePassword',
    tag,
    summary: 'Change your password, and end your other sessions',
    body: jsonBody(CHANGE_PASSWORD_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'weak-password', 'invalid-credentials', 'user-not-found'],
  }),
  reauthentication: declareOperation({
    id: 'reauthenticate',
    tag,
    summary: 'Reauthenticate in this session',
    description:
      'With the password, or with a code of the second factor. The session then counts as recently authenticated for 15 minutes.',
    body: jsonBody(REAUTHENTICATE_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'invalid-credentials', 'user-not-found'],
  }),
  logout: declareOperation({
    id: 'logout',
    tag,
    summary: 'End this session',
    responses: NO_CONTENT_RESPONSE,
    errors: QUERY_PARAMETER_ERRORS,
  }),
  sessions: declareOperation({
    id: 'listSessions',
    tag,
    summary: 'List your sessions',
    responses: jsonResponse('The sessions, oldest first.', arraySchema(SESSION_SHAPE)),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  endSession: declareOperation({
    id: 'endSession',
    tag,
    summary: 'End one of your sessions',
    parameters: [idParameter('id', 'the session', 'sessionId')],
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'session-not-found'],
  }),
  ticket: declareOperation({
    id: 'createTicket',
    tag,
    summary: 'Create a ticket, for requests that cannot have a header',
    responses: jsonResponse('A ticket.', TICKET_SHAPE),
    errors: QUERY_PARAMETER_ERRORS,
  }),
};
