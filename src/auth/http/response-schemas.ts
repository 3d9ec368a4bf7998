/** OpenAPI responses that operations on users, sessions and keys share, and their errors. */
import type { ErrorCode } from '../../lib/errors.ts';
import { namedSchema } from '../../openapi/schema.ts';
import * as schema from './request-schemas.ts';

export const USER_SHAPE = namedSchema('User', schema.USER_SCHEMA);
export const SIGN_IN_RESULT_SHAPE = namedSchema('SignInResult', schema.SIGN_IN_RESULT);
export const SESSION_SHAPE = namedSchema('Session', schema.SESSION_VIEW_SCHEMA);
export const IDENTITY_SHAPE = namedSchema('Identity', schema.IDENTITY_SCHEMA);
export const API_KEY_SHAPE = namedSchema('ApiKey', schema.API_KEY_SCHEMA);
export const CURRENT_API_KEY_SHAPE = namedSchema('CurrentApiKey', schema.CURRENT_API_KEY_SCHEMA);
export const TICKET_SHAPE = namedSchema('Ticket', schema.TICKET_SCHEMA);

/** Errors of a user whose name, e-mail address or password cannot be accepted. */
export const USER_INPUT_ERRORS: readonly ErrorCode[] = ['username-taken', 'email-taken', 'weak-password'];
