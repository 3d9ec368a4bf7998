/** The requests about who is asking, as operations of the contract: sign-in and one's own account. */
import {
  CHANGE_ME,
  CHANGE_PASSWORD,
  JWKS,
  LOGIN,
  PROVIDERS,
  REFRESH,
  REGISTER,
  RENEWED,
  RESET,
  RESET_CONFIRM,
  SET_UP,
  SETUP,
  VERIFY,
} from '../../auth/schema.ts';
import { answer, id, MISSING, NAMING, signIn } from './account-operation.ts';
import { accountPaths, keyPaths } from './accounts.ts';
import type { Paths } from './documents.ts';
import { BODY } from './operation.ts';
import { ref } from './shapes.ts';

export function identityPaths(): Paths {
  return { ...strangers(), ...account(), ...accountPaths(), ...keyPaths() };
}

function strangers(): Paths {
  const session = (description: string, status?: number) => answer(description, ref('SignedIn'), status);
  return {
    '/auth/register': {
      post: signIn({
        operationId: 'auth.register',
        summary: 'Make an account',
        body: REGISTER,
        answers: session('Made, and signed in.', 201),
        errors: [...NAMING, 'registration-closed'],
      }),
    },
    '/auth/login': {
      post: signIn({
        operationId: 'auth.login',
        summary: 'Sign in',
        body: LOGIN,
        answers: session('Signed in.'),
        errors: ['sign-in-failed'],
      }),
    },
    '/auth/refresh': {
      post: signIn({
        operationId: 'auth.refresh',
        summary: 'Renew the tokens of a session',
        description: 'A refresh token works once; for 10 seconds it answers with the same successor.',
        body: REFRESH,
        answers: answer('Fresh tokens.', RENEWED),
      }),
    },
    '/auth/verify': {
      post: signIn({
        operationId: 'auth.verify',
        summary: 'Prove an e-mail address',
        body: VERIFY,
        errors: ['link-unusable', 'unique-violation', ...MISSING],
      }),
    },
    '/auth/reset': {
      post: signIn({
        operationId: 'auth.reset',
        summary: 'Ask for a letter that sets a new password',
        body: RESET,
        answers: { 202: { description: 'If there is such an account, a letter is on its way.' } },
      }),
    },
    '/auth/reset/confirm': {
      post: signIn({
        operationId: 'auth.resetConfirm',
        summary: 'Set a new password with what the letter holds',
        body: RESET_CONFIRM,
        errors: ['link-unusable', 'password-refused', ...MISSING],
      }),
    },
    '/setup': {
      post: signIn({
        operationId: 'setup',
        summary: 'Become the first owner by a set-up link',
        body: SETUP,
        answers: answer('The owner, signed in.', SET_UP, 201),
        errors: [...NAMING, 'link-unusable'],
      }),
    },
    '/auth/providers': {
      get: signIn({
        operationId: 'auth.providers',
        summary: 'How one can sign in',
        answers: answer('What is configured.', PROVIDERS),
      }),
    },
    '/.well-known/jwks.json': {
      get: signIn({
        operationId: 'auth.publicKeys',
        summary: 'The public keys of access tokens',
        answers: answer('A JSON Web Key Set.', JWKS),
      }),
    },
  };
}

function account(): Paths {
  return {
    '/auth/me': {
      get: signIn({
        operationId: 'auth.me',
        summary: 'Get your own account',
        answers: answer('The account.', ref('User')),
        errors: MISSING,
      }),
      patch: signIn({
        operationId: 'auth.changeMe',
        summary: 'Change your own account',
        description: 'A new e-mail address counts once the letter that is sent to it is answered.',
        body: CHANGE_ME,
        answers: answer('The account as it is now.', ref('User')),
        errors: [...NAMING, 'sign-in-failed', ...MISSING],
      }),
    },
    '/auth/password': {
      post: signIn({
        operationId: 'auth.changePassword',
        summary: 'Change your password, and end your other sessions',
        body: CHANGE_PASSWORD,
        errors: ['password-refused', 'sign-in-failed', ...MISSING],
      }),
    },
    '/auth/logout': { post: signIn({ operationId: 'auth.logout', summary: 'End this session', errors: BODY }) },
    '/auth/sessions': {
      get: signIn({
        operationId: 'auth.sessions',
        summary: 'List your sessions',
        answers: answer('The sessions, oldest first.', { type: 'array', items: ref('Session') }),
      }),
    },
    '/auth/sessions/{id}': {
      delete: signIn({
        operationId: 'auth.endSession',
        summary: 'End one of your sessions',
        parameters: [id('id', 'the session')],
        errors: [...BODY, ...MISSING],
      }),
    },
    '/auth/ticket': {
      post: signIn({
        operationId: 'auth.ticket',
        summary: 'Get a ticket for where no header can be sent',
        answers: answer('A ticket.', ref('Ticket')),
        errors: BODY,
      }),
    },
  };
}
