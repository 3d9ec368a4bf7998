/**
 * Responses that a service provider has to reject, each derived from an honest one, and the reason that administrators
 * must find: a falsification that is rejected for another reason would show nothing.
 */
import { certifiedAgain, type SamlKeys, samlKeys } from './certificate.ts';
import { type SamlFacts, signed } from './messages.ts';
import type { Forgery } from './saml-provider.ts';
import { ASSERTION, evil, SIGNATURE } from './wrappings.ts';

const MINUTE = 60_000;
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const ELSEWHERE = 'https://attacker.example/acs';
const TRANSFORMS = /<ds:Transforms>.*?<\/ds:Transforms>/;

const saying = (facts: (facts: SamlFacts) => Partial<SamlFacts>, reason: RegExp): Forgery => ({ facts, reason });

/** Falsified content; all are signed correctly. */
export const FACT_LIES: Readonly<Record<string, Forgery>> = {
  'wrong audience': saying(() => ({ audience: 'https://other.example' }), /another audience/),
  'wrong recipient': saying(() => ({ recipient: ELSEWHERE }), /another Recipient/),
  'recipient of another provider here': saying(
    ({ recipient }) => ({ recipient: recipient.replace('/acme/', '/other/') }),
    /another Recipient/,
  ),
  'wrong destination': saying(() => ({ destination: ELSEWHERE }), /another Destination/),
  'no destination': { sent: (xml) => xml.replace(/ Destination="[^"]*"/, ''), reason: /another Destination/ },
  'wrong issuer of the assertion': saying(
    () => ({ issuer: 'https://attacker.example' }),
    /assertion has another Issuer/,
  ),
  'wrong issuer of the response': saying(
    () => ({ responseIssuer: 'https://attacker.example' }),
    /message has another Issuer/,
  ),
  expired: saying(() => ({ notOnOrAfter: Date.now() - 2 * MINUTE }), /has expired/),
  'too early': saying(() => ({ notBefore: Date.now() + 2 * MINUTE }), /not valid yet/),
  'time without a zone': { written: (xml) => xml.replace(/(NotBefore="[^"]*)Z"/, '$1"'), reason: /not a time in UTC/ },
  'answer to another request': saying(() => ({ inResponseTo: '_another' }), /another InResponseTo/),
  'answer to nothing': saying(() => ({ inResponseTo: null }), /no InResponseTo/),
  'only the assertion answers nothing': {
    written: (xml) => xml.replace(/ InResponseTo="[^"]*"/, ''),
    reason: /SubjectConfirmationData has no InResponseTo/,
  },
  'no conditions': {
    written: (xml) => xml.replace(/<saml:Conditions.*<\/saml:Conditions>/, ''),
    reason: /no Conditions/,
  },
  'no audience': {
    written: (xml) => xml.replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, ''),
    reason: /has no audience/,
  },
  'another version of the response': {
    sent: (xml) => xml.replace('Version="2.0"', 'Version="1.1"'),
    reason: /message is of another version/,
  },
  'another version of the assertion': {
    written: (xml) => xml.replace('Version="2.0"', 'Version="1.1"'),
    reason: /assertion is of another version/,
  },
  'no sign-in that is notified of': {
    written: (xml) => xml.replace(/<saml:AuthnStatement.*<\/saml:AuthnStatement>/, ''),
    reason: /does not say that the user signed in/,
  },
  'a confirmation without an end': {
    written: (xml) => xml.replace(/(<saml:SubjectConfirmationData) NotOnOrAfter="[^"]*"/, '$1'),
    // The library checks it as well, and first.
    reason: /confirmation of the subject has no expiry|the library rejects it/,
  },
  'a confirmation that has expired': {
    written: (xml) =>
      xml.replace(/(ConfirmationData NotOnOrAfter=")[^"]*/, `$1${new Date(Date.now() - 2 * MINUTE).toISOString()}`),
    reason: /SubjectConfirmationData has expired/,
  },
  'conditions that have expired': {
    written: (xml) =>
      xml.replace(/(<saml:Conditions .*? NotOnOrAfter=")[^"]*/, `$1${new Date(Date.now() - 2 * MINUTE).toISOString()}`),
    reason: /Conditions has expired/,
  },
  'two confirmations': {
    written: (xml) => xml.replace(/<saml:SubjectConfirmation .*<\/saml:SubjectConfirmation>/, (one) => one + one),
    reason: /not have exactly one confirmation/,
  },
  'no confirmation by the bearer': {
    written: (xml) => xml.replace('cm:bearer', 'cm:sender-vouches'),
    reason: /not have exactly one confirmation/,
  },
  'a condition that nobody knows': {
    written: (xml) => xml.replace('<saml:AudienceRestriction>', '<saml:OneTimeUser/><saml:AudienceRestriction>'),
    reason: /unknown condition/,
  },
  'two subjects': {
    written: (xml) => xml.replace(/<saml:Subject>.*<\/saml:Subject>/, (one) => one + one),
    reason: /more than one Subject/,
  },
  'two NameIDs': {
    written: (xml) => xml.replace(/<saml:NameID .*<\/saml:NameID>/, (one) => one + one),
    reason: /more than one NameID/,
  },
  'an element in NameID': saying(() => ({ nameId: 'ada<x xmlns="x">@evil</x>' }), /contains more than text/),
  'a comment in NameID': saying(() => ({ nameId: 'ada-of-the-tests<!-- -->.evil.example' }), /has a comment/),
  'a comment in an attribute value': saying(() => ({ attributes: { groups: ['staff<!-- -->-not'] } }), /has a comment/),
  'a NameID that changes each time': saying(
    () => ({ format: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient' }),
    /transient/,
  ),
};

/** Falsified signatures. */
export function signatureLies(own: SamlKeys): Readonly<Record<string, Forgery>> {
  return {
    unsigned: { signs: [], reason: /neither the response nor the assertion is signed/ },
    'changed after it was signed': {
      sent: (xml) => xml.replace('ada-of-the-tests', 'eve-of-the-tests'),
      reason: /no known key made the signature/,
    },
    'key of a foreign certificate': { keys: samlKeys(), reason: /no known key made the signature/ },
    'SHA-1 in the signature': {
      signing: { signatureAlgorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' },
      reason: /by rsa-sha1, which is not accepted/,
    },
    'SHA-1 in the digest': {
      signing: { digestAlgorithm: 'http://www.w3.org/2000/09/xmldsig#sha1' },
      reason: /digest is by sha1, which is not accepted/,
    },
    'no transforms': {
      sent: (xml) => xml.replace(TRANSFORMS, '<ds:Transforms></ds:Transforms>'),
      reason: /other transforms than/,
    },
    'transforms of the kind none': {
      sent: (xml) => xml.replace(TRANSFORMS, '<ds:Transforms><ds:Transform Algorithm="none"/></ds:Transforms>'),
      reason: /other transforms than/,
    },
    'one transform only': { signing: { transforms: [ENVELOPED] }, reason: /other transforms than/ },
    'a transform that keeps comments': {
      signing: { transforms: [ENVELOPED, `${EXCLUSIVE}WithComments`] },
      reason: /other transforms than/,
    },
    'another canonical form': {
      signing: { canonical: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
      reason: /another canonical form/,
    },
    'an object in the signature': {
      sent: (xml) => xml.replace('</ds:Signature>', '<ds:Object/>$&'),
      reason: /its own objects/,
    },
    'a signature over another element': {
      signs: ['response'],
      signing: { over: 'Subject' },
      written: (xml) => xml.replace('<saml:Subject>', '<saml:Subject ID="_subject">'),
      reason: /over another element/,
    },
    'a signature that stands at another element': {
      sent: (xml) => {
        const [signature = ''] = SIGNATURE.exec(xml) ?? [];
        return xml.replace(signature, '').replace('</samlp:Status>', `${signature}</samlp:Status>`);
      },
      reason: /is at another element/,
    },
    'two signatures of one element': {
      sent: (xml) => xml.replace(SIGNATURE, (one) => one + one.replace(/Id="[^"]*"/g, '')),
      reason: /two signatures/,
    },
    'the response signed with an unknown key, the assertion as it should be': {
      sent: (xml) => signed(xml, 'Response', samlKeys()),
      reason: /no known key made the signature/,
    },
    'the certificate in the message instead of the known one': {
      keys: certifiedAgain(samlKeys()),
      reason: /no known key made the signature/,
    },
    'an expired certificate of the right key': { keys: own, reason: /no known key made the signature/ },
    'a certificate of the right key that is not good yet': { keys: own, reason: /no known key made the signature/ },
  };
}

/** Falsifications of the text itself. */
export const TEXT_LIES: Readonly<Record<string, Forgery>> = {
  'two assertions': {
    sent: (xml) => xml.replace(ASSERTION, (one) => one + evil(one)),
    reason: /there are 2 assertions/,
  },
  'no assertion': { signs: ['response'], sent: (xml) => xml.replace(ASSERTION, ''), reason: /there are 0 assertions/ },
  DOCTYPE: { sent: (xml) => `<!DOCTYPE x>${xml}`, reason: /DOCTYPE/ },
  entities: {
    sent: (xml) => `<!DOCTYPE x [<!ENTITY who "eve">]>${xml.replace('ada-of', '&who;-of')}`,
    reason: /DOCTYPE/,
  },
  'an entity of a file': {
    sent: (xml) => `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>${xml.replace('ada-of', '&f;')}`,
    reason: /DOCTYPE/,
  },
  'entities that grow': {
    sent: (xml) => `<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;&a;">]>${xml.replace('ada-of', '&b;')}`,
    reason: /DOCTYPE/,
  },
  'CDATA in NameID': {
    sent: (xml) => xml.replace('ada-of-the-tests', '<![CDATA[ada-of-the-tests]]>'),
    reason: /CDATA/,
  },
  'an instruction': { sent: (xml) => xml.replace('ada-of', 'ada<?x y?>-of'), reason: /instruction/ },
  'an entity that nobody declared': { sent: (xml) => xml.replace('ada-of', '&who;-of'), reason: /not well-formed/ },
  'an attribute twice': {
    sent: (xml) => xml.replace(/(<saml:Assertion\b[^>]*) ID="/, '$1 ID="_evil" ID="'),
    reason: /not well-formed/,
  },
  'two roots': { sent: (xml) => xml + xml, reason: /not well-formed/ },
  'elements that nest very deep': {
    sent: (xml) => xml.replace('</samlp:Status>', () => `${'<b>'.repeat(1_000)}${'</b>'.repeat(1_000)}</samlp:Status>`),
    reason: /nests too deep/,
  },
  'another encoding': {
    sent: (xml) => `<?xml version="1.0" encoding="UTF-7"?>${xml}`,
    reason: /another encoding/,
  },
  'not well-formed': { sent: (xml) => xml.replace('</samlp:Response>', ''), reason: /not well-formed/ },
  'not XML': { sent: () => 'hello', reason: /not well-formed|no root/ },
};
