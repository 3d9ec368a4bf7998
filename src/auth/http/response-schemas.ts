/**
 * OpenAPI responses that operations on users, sessions and keys share. The operations themselves are next to their
 * routes, here and in admin/.
 */
import type { ErrorCode } from '../../lib/errors.ts';
import { shape } from '../../openapi/schema.ts';
import * as schema from './request-schemas.ts';

export const USER_SHAPE = shape('User', schema.USER);
export const SIGNED_IN_SHAPE = shape('SignInResult', schema.SIGNED_IN);
export const SESSION_SHAPE = shape('Session', schema.SESSION);
export const IDENTITY_SHAPE = shape('Identity', schema.IDENTITY);
export const API_KEY_SHAPE = shape('ApiKey', schema.API_KEY);
export const OWN_KEY_SHAPE = shape('CurrentApiKey', schema.OWN_KEY);
export const TICKET_SHAPE = shape('Ticket', schema.TICKET);

/** Errors of a user whose name, e-mail address or password cannot be accepted. */
export const NAMING_ERRORS: readonly ErrorCode[] = ['username-taken', 'email-taken', 'weak-password'];
