/**
 * A page that posts fields to another server by itself, as the POST binding of SAML asks for. Without scripts, a person
 * presses its button. Pure.
 */
import { escaped, type SmallPage, smallPage } from './small-page.ts';

const SCRIPT = 'document.forms[0].submit()';

export function postingPage(address: string, fields: Readonly<Record<string, string>>): SmallPage {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  const form = `<form method="post" action="${escaped(address)}">${inputs.join('')}<button>Continue</button></form>`;
  const { html, policy } = smallPage('On to the sign-in', form, SCRIPT);
  // Where the provider sends the browser on after the post, browsers ask the same rule.
  return { html, policy: policy.replace("form-action 'none'", 'form-action http: https:') };
}
