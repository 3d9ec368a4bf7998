/** The requests about accounts, keys and the audit of those who run the installation, as operations of the contract. */
import { CHANGE_USER, NEW_KEY, NEW_USER } from '../../auth/schema.ts';
import { admin, answer, choice, id, listed, MISSING, NAMING, PAGE } from './account-operation.ts';
import type { Paths } from './documents.ts';
import { BODY } from './operation.ts';
import { ref } from './shapes.ts';

export function accountPaths(): Paths {
  const one = [id('id', 'the account')];
  return {
    '/admin/users': {
      get: admin({
        operationId: 'users.list',
        summary: 'List accounts',
        parameters: [...PAGE, choice('kind', 'Only these.', { enum: ['user', 'owner'] })],
        answers: listed('User'),
        errors: ['invalid-parameter'],
      }),
      post: admin({
        operationId: 'users.create',
        summary: 'Make an account',
        body: NEW_USER,
        answers: { 201: { description: 'Made.', schema: ref('User'), headers: ['Location'] } },
        errors: NAMING,
      }),
    },
    '/admin/users/{id}': {
      get: admin({
        operationId: 'users.get',
        summary: 'Get an account',
        parameters: one,
        answers: answer('The account.', ref('User')),
        errors: MISSING,
      }),
      patch: admin({
        operationId: 'users.change',
        summary: 'Change what an account may',
        parameters: one,
        body: CHANGE_USER,
        answers: answer('The account as it is now.', ref('User')),
        errors: [...MISSING, 'last-owner'],
      }),
      delete: admin({
        operationId: 'users.remove',
        summary: 'Delete an account',
        parameters: one,
        errors: [...BODY, ...MISSING, 'last-owner'],
      }),
    },
    '/admin/users/{id}/sessions': {
      get: admin({
        operationId: 'users.sessions',
        summary: 'List the sessions of an account',
        parameters: one,
        answers: answer('The sessions, oldest first.', { type: 'array', items: ref('Session') }),
        errors: MISSING,
      }),
      delete: admin({
        operationId: 'users.endSessions',
        summary: 'End all sessions of an account',
        parameters: one,
        errors: [...BODY, ...MISSING],
      }),
    },
    '/admin/users/{id}/sessions/{session}': {
      delete: admin({
        operationId: 'users.endSession',
        summary: 'End one session of an account',
        parameters: [...one, id('session', 'the session')],
        errors: [...BODY, ...MISSING],
      }),
    },
    '/admin/audit': {
      get: admin({
        operationId: 'audit.list',
        summary: 'List what happened to accounts, keys and policies, newest first',
        parameters: [...PAGE, choice('type', 'Only these types of events; `*` stands for anything.')],
        answers: listed('Event'),
        errors: ['invalid-parameter'],
      }),
    },
  };
}

export function keyPaths(): Paths {
  const one = [id('id', 'the key')];
  return {
    '/admin/keys': {
      get: admin({
        operationId: 'keys.list',
        summary: 'List API keys',
        parameters: PAGE,
        answers: listed('ApiKey'),
        errors: ['invalid-parameter'],
      }),
      post: admin({
        operationId: 'keys.create',
        summary: 'Make an API key, which is shown once',
        body: NEW_KEY,
        answers: { 201: { description: 'Made.', schema: ref('ApiKey'), headers: ['Location'] } },
      }),
    },
    '/admin/keys/{id}': {
      get: admin({
        operationId: 'keys.get',
        summary: 'Get what is known of an API key',
        parameters: one,
        answers: answer('The key.', ref('ApiKey')),
        errors: MISSING,
      }),
      delete: admin({
        operationId: 'keys.remove',
        summary: 'End an API key',
        parameters: one,
        errors: [...BODY, ...MISSING],
      }),
    },
  };
}
