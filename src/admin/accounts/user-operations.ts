/** The operations on accounts as the contract describes them. Not here: the routes (user-routes.ts). */
import { IDENTITY_SHAPE, NAMING_ERRORS, SESSION_SHAPE, USER_SHAPE } from '../../auth/http/account-contract.ts';
import { PASSKEYS_SHAPE } from '../../auth/http/factors/passkey-operations.ts';
import { CHANGE_USER, NEW_USER } from '../../auth/http/schema.ts';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../contract/operation.ts';
import { idParameter, queryParameter } from '../../contract/parameters.ts';
import { listOf } from '../../contract/schema.ts';
import { adminPage, LIST_ERRORS, LIST_PARAMETERS } from '../list-query.ts';

const tag = 'Running it';
const ONE = [idParameter('id', 'the account')];

export const USERS = {
  list: operation({
    id: 'users.list',
    tag,
    summary: 'List accounts',
    parameters: [
      ...LIST_PARAMETERS,
      queryParameter('kind', 'Only these.', { enum: ['user', 'owner'] }),
      queryParameter('search', 'How the user name or the e-mail address begins, or the whole id.'),
    ],
    answers: adminPage(USER_SHAPE),
    errors: LIST_ERRORS,
  }),
  create: operation({
    id: 'users.create',
    tag,
    summary: 'Make an account',
    body: jsonBody(NEW_USER),
    answers: answer('Made.', USER_SHAPE, 201, ['Location']),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'fresh-sign-in-required'],
  }),
  get: operation({
    id: 'users.get',
    tag,
    summary: 'Get an account',
    parameters: ONE,
    answers: answer('The account.', USER_SHAPE),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  change: operation({
    id: 'users.change',
    tag,
    summary: 'Change what an account may',
    parameters: ONE,
    body: jsonBody(CHANGE_USER),
    answers: answer('The account as it is now.', USER_SHAPE),
    errors: [...CHECKED_ERRORS, 'fresh-sign-in-required', 'document-not-found', 'last-owner'],
  }),
  remove: operation({
    id: 'users.remove',
    tag,
    summary: 'Delete an account',
    parameters: ONE,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found', 'last-owner'],
  }),
  identities: operation({
    id: 'users.identities',
    tag,
    summary: 'List the identities that sign in to an account',
    parameters: ONE,
    answers: answer('The identities, oldest first.', listOf(IDENTITY_SHAPE)),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  removeFactor: operation({
    id: 'users.removeFactor',
    tag,
    summary: 'Remove the second factor of an account',
    description: 'For a user who has lost the device and the recovery codes.',
    parameters: ONE,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found'],
  }),
  passkeys: operation({
    id: 'users.passkeys',
    tag,
    summary: 'List the passkeys of an account',
    parameters: ONE,
    answers: answer('The passkeys, the oldest first.', PASSKEYS_SHAPE),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  removePasskeys: operation({
    id: 'users.removePasskeys',
    tag,
    summary: 'Remove all passkeys of an account',
    description: 'For a user who has lost the devices.',
    parameters: ONE,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found'],
  }),
  sessions: operation({
    id: 'users.sessions',
    tag,
    summary: 'List the sessions of an account',
    parameters: ONE,
    answers: answer('The sessions, oldest first.', listOf(SESSION_SHAPE)),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  endSessions: operation({
    id: 'users.endSessions',
    tag,
    summary: 'End all sessions of an account',
    parameters: ONE,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
  endSession: operation({
    id: 'users.endSession',
    tag,
    summary: 'End one session of an account',
    parameters: [...ONE, idParameter('session', 'the session')],
    answers: DONE,
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
};
