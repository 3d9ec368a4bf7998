/**
 * Responses in which a valid signature covers something else than a careless reader uses. Other falsifications:
 * saml-lies.ts.
 */
import type { Forgery } from './saml-provider.ts';

export const ASSERTION = /<saml:Assertion\b[\s\S]*<\/saml:Assertion>/;
export const SIGNATURE = /<ds:Signature\b[\s\S]*<\/ds:Signature>/;

/**
 * The eight ways to wrap a signed element that are known by number (Somorovsky and others, "On Breaking SAML", 2012; as
 * in SAML Raider). In each the signature is valid, and covers something else than a careless reader uses.
 */
export const WRAPPINGS: Readonly<Record<string, Forgery>> = {
  'wrapping 1: the signed response within the signature of another one': {
    signs: ['response'],
    sent: (xml) => wrapped(xml, (original, signature) => signature.replace(/<\/ds:Signature>$/, `${original}$&`)),
    reason: /there are 2 assertions/,
  },
  'wrapping 2: the signed response before the signature of another one': {
    signs: ['response'],
    sent: (xml) => wrapped(xml, (original, signature) => original + signature),
    reason: /there are 2 assertions/,
  },
  'wrapping 3: another assertion before the signed one': {
    sent: (xml) => xml.replace(ASSERTION, (one) => evil(one) + one),
    reason: /there are 2 assertions/,
  },
  'wrapping 4: the signed assertion within another one': {
    sent: (xml) => xml.replace(ASSERTION, (one) => evil(one).replace(/<\/saml:Assertion>$/, `${one}$&`)),
    reason: /there are 2 assertions/,
  },
  'wrapping 5: the signature in another assertion, the signed one after it': {
    sent: (xml) => xml.replace(ASSERTION, (one) => evil(one, true) + one.replace(SIGNATURE, '')),
    reason: /there are 2 assertions/,
  },
  'wrapping 6: the signed assertion within the signature of another one': {
    sent: (xml) =>
      xml.replace(ASSERTION, (one) =>
        evil(one, true).replace('</ds:Signature>', () => `${one.replace(SIGNATURE, '')}</ds:Signature>`),
      ),
    reason: /there are 2 assertions/,
  },
  'wrapping 7: another assertion among extensions': {
    sent: (xml) => xml.replace(ASSERTION, (one) => `<samlp:Extensions>${evil(one)}</samlp:Extensions>${one}`),
    reason: /there are 2 assertions/,
  },
  'wrapping 8: the signed assertion among objects of the signature of another one': {
    sent: (xml) =>
      xml.replace(ASSERTION, (one) =>
        evil(one, true).replace(
          '</ds:Signature>',
          () => `<ds:Object>${one.replace(SIGNATURE, '')}</ds:Object></ds:Signature>`,
        ),
      ),
    reason: /there are 2 assertions/,
  },
  'the assertion in another place': {
    sent: (xml) => xml.replace(ASSERTION, (one) => `<samlp:Extensions>${one}</samlp:Extensions>`),
    reason: /is at another position/,
  },
  'a response within the response': {
    sent: (xml) => xml.replace('<samlp:Status>', '<samlp:Extensions><samlp:Response/></samlp:Extensions>$&'),
    reason: /response within the response/,
  },
  'the same id twice, once in another namespace': {
    sent: (xml) => {
      const [, id = ''] = /<saml:Assertion[^>]* ID="([^"]*)"/.exec(xml) ?? [];
      return xml.replace('<samlp:Status>', `<samlp:Status xmlns:x="urn:x" x:ID="${id}">`);
    },
    reason: /an ID is used twice/,
  },
  'an id that is no name': {
    sent: (xml) => xml.replace(/(<samlp:Response[^>]*) ID="[^"]*"/, `$1 ID="a' or 'a'='a"`),
    reason: /no usable ID/,
  },
  'the same id twice': {
    sent: (xml) => {
      const [, id = ''] = /<saml:Assertion[^>]* ID="([^"]*)"/.exec(xml) ?? [];
      return xml.replace('<samlp:Status>', `<samlp:Status ID="${id}">`);
    },
    reason: /an ID is used twice/,
  },
};

/**
 * Another user, with another id.
 * @param keeps whether the signature stays
 */
export function evil(assertion: string, keeps = false): string {
  const changed = assertion.replace('ada-of-the-tests', 'eve-of-the-tests').replace(/ ID="[^"]*"/, ' ID="_evil"');
  return keeps ? changed : changed.replace(SIGNATURE, '');
}

/**
 * A response of another user around a signed one.
 * @param place where the signed one and its signature are
 */
function wrapped(xml: string, place: (original: string, signature: string) => string): string {
  const [signature = ''] = SIGNATURE.exec(xml) ?? [];
  const original = xml.replace(signature, '');
  const other = evil(original).replace(/<samlp:Response([^>]*) ID="[^"]*"/, '<samlp:Response$1 ID="_evil-response"');
  return other.replace('<samlp:Status>', () => `${place(original, signature)}<samlp:Status>`);
}
