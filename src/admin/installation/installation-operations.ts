/** The operations on the installation as the contract describes them. Not here: the routes (installation-routes.ts). */
import { ASKED_ERRORS, answer, operation } from '../../contract/operation.ts';
import { shape } from '../../contract/schema.ts';
import { EFFECTIVE_SETTINGS, MAIL_VERDICT } from './installation-shapes.ts';

const tag = 'Running it';

export const MAIL_VERDICT_SHAPE = shape('MailVerdict', MAIL_VERDICT);

export const INSTALLATION = {
  effectiveSettings: operation({
    id: 'settings.effective',
    tag,
    summary: 'The settings that are in force, without secrets',
    description: 'They are environment variables, so a change needs a restart.',
    answers: answer('The settings of the process that answers.', shape('EffectiveSettings', EFFECTIVE_SETTINGS)),
    errors: ASKED_ERRORS,
  }),
  testMail: operation({
    id: 'mail.test',
    tag,
    summary: 'Send a test letter to the own address',
    description: 'At most one every ten seconds.',
    answers: answer('Whether the letter was taken, and why not.', MAIL_VERDICT_SHAPE),
    errors: [...ASKED_ERRORS, 'document-not-found'],
  }),
};
