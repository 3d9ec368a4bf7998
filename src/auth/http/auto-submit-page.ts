/**
 * A page that posts fields to another server by itself, as the POST binding of SAML requires. Without scripts, the user
 * presses its button. Pure.
 */
import { escapeHtml, type HostedPage, renderHostedPage } from './page-template.ts';

const SCRIPT = 'document.forms[0].submit()';

export function autoSubmitPage(address: string, fields: Readonly<Record<string, string>>): HostedPage {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const form = `<form method="post" action="${escapeHtml(address)}">${inputs.join('')}<button>Continue</button></form>`;
  const { html, policy } = renderHostedPage('Continue to sign-in', form, SCRIPT);
  // Browsers apply the same rule to the provider's redirect after the post.
  return { html, policy: policy.replace("form-action 'none'", 'form-action http: https:') };
}
