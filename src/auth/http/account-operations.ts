/** Operations on the caller's own account, as the contract describes them. Not here: the routes (account-routes.ts). */
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../contract/operation.ts';
import { idParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { NAMING_ERRORS, OWN_KEY_SHAPE, SESSION_SHAPE, TICKET_SHAPE, USER_SHAPE } from './account-contract.ts';
import { CHANGE_ME, CHANGE_PASSWORD, FRESH } from './schema.ts';

const tag = 'Sign-in';

export const ACCOUNT = {
  me: operation({
    id: 'auth.me',
    tag,
    summary: 'Get your own account, or the API key that asks',
    answers: answer('The account; for a key, what it may know of itself.', { anyOf: [USER_SHAPE, OWN_KEY_SHAPE] }),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  changeMe: operation({
    id: 'auth.changeMe',
    tag,
    summary: 'Change your own account',
    description: 'A new e-mail address takes effect when the link that is sent to it has been opened.',
    body: jsonBody(CHANGE_ME),
    answers: answer('The account as it is now.', USER_SHAPE),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'sign-in-failed', 'document-not-found'],
  }),
  changePassword: operation({
    id: 'auth.changePassword',
    tag,
    summary: 'Change your password, and end your other sessions',
    body: jsonBody(CHANGE_PASSWORD),
    answers: DONE,
    errors: [...CHECKED_ERRORS, 'password-refused', 'sign-in-failed', 'document-not-found'],
  }),
  fresh: operation({
    id: 'auth.fresh',
    tag,
    summary: 'Prove again who you are, in this session',
    description: 'By the password, or by a code of the second factor. The session then counts as fresh for 15 minutes.',
    body: jsonBody(FRESH),
    answers: DONE,
    errors: [...CHECKED_ERRORS, 'sign-in-failed', 'document-not-found'],
  }),
  logout: operation({
    id: 'auth.logout',
    tag,
    summary: 'End this session',
    answers: DONE,
    errors: ASKED_ERRORS,
  }),
  sessions: operation({
    id: 'auth.sessions',
    tag,
    summary: 'List your sessions',
    answers: answer('The sessions, oldest first.', listOf(SESSION_SHAPE)),
    errors: ASKED_ERRORS,
  }),
  endSession: operation({
    id: 'auth.endSession',
    tag,
    summary: 'End one of your sessions',
    parameters: [idParameter('id', 'the session')],
    answers: DONE,
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  ticket: operation({
    id: 'auth.ticket',
    tag,
    summary: 'Get a ticket, for requests that cannot have a header',
    answers: answer('A ticket.', TICKET_SHAPE),
    errors: ASKED_ERRORS,
  }),
};
