/** OpenAPI operations of the instance. */
import { operation, REQUEST_ERRORS, response } from '../../contract/operation.ts';
import { shape } from '../../contract/schema.ts';
import { EFFECTIVE_SETTINGS, MAIL_VERDICT } from './installation-shapes.ts';

const tag = 'admin';

export const MAIL_VERDICT_SHAPE = shape('EmailTestResult', MAIL_VERDICT);

export const INSTALLATION = {
  effectiveSettings: operation({
    id: 'getEffectiveSettings',
    tag,
    summary: 'Get the effective settings, without secrets',
    description: 'They are environment variables, so a change needs a restart.',
    responses: response('The settings of the process that responds.', shape('EffectiveSettings', EFFECTIVE_SETTINGS)),
    errors: REQUEST_ERRORS,
  }),
  testMail: operation({
    id: 'sendTestEmail',
    tag,
    summary: 'Send a test e-mail to yourself',
    description: 'At most one every ten seconds.',
    responses: response('Whether the mail server accepted the e-mail, and the error.', MAIL_VERDICT_SHAPE),
    errors: [...REQUEST_ERRORS, 'user-not-found'],
  }),
};
