/**
 * Encrypted assertions with their own instructions for decryption: rejected before anything is decrypted, each for its
 * own reason.
 */
import t from 'tap';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { AES_GCM } from '../../helpers/saml/saml-provider.ts';

const AES_CBC = 'http://www.w3.org/2001/04/xmlenc#aes256-cbc';
const OAEP = 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p';
const KEY = /<e:EncryptedKey[\s\S]*<\/e:EncryptedKey>/;
const METHOD = /<xenc:EncryptionMethod[^>]*>/;
const foreign = (name: string, algorithm: string) => `<x:${name} xmlns:x="urn:x" Algorithm="${algorithm}"/>`;

/** The key beside the content, and what refers to it. */
function beside(uri: string): (xml: string) => string {
  return (xml) => {
    const [key = ''] = KEY.exec(xml) ?? [];
    return xml
      .replace(KEY, `<RetrievalMethod URI="${uri}"/>`)
      .replace(
        '</saml:EncryptedAssertion>',
        (end) => key.replace('<e:EncryptedKey', '$& Id="_key" xmlns="http://www.w3.org/2000/09/xmldsig#"') + end,
      );
  };
}

const LIES: Readonly<Record<string, { sent: (xml: string) => string; reason: RegExp; cipher?: typeof AES_CBC }>> = {
  'a cipher for the content in another namespace, before the one that is looked at': {
    cipher: AES_CBC,
    sent: (xml) =>
      xml.replace(METHOD, `${foreign('EncryptionMethod', AES_CBC)}<xenc:EncryptionMethod Algorithm="${AES_GCM}"/>`),
    reason: /EncryptionMethod is of another namespace/,
  },
  'a cipher for the key in another namespace': {
    sent: (xml) =>
      xml.replace(
        '<e:EncryptionMethod',
        () => `${foreign('EncryptionMethod', `${OAEP.slice(0, -14)}rsa-1_5`)}<e:EncryptionMethod`,
      ),
    reason: /EncryptionMethod is of another namespace/,
  },
  'content in another namespace': {
    sent: (xml) => xml.replace('<xenc:EncryptedData', () => `<EncryptedData xmlns="urn:x"/><xenc:EncryptedData`),
    reason: /EncryptedData is of another namespace/,
  },
  'two keys': {
    sent: (xml) => xml.replace(KEY, (one) => one + one),
    reason: /more than one EncryptedKey|2 elements EncryptedKey/,
  },
  'a key under another id': { sent: beside('#_other'), reason: /refers to another key/ },
  // Such a name, put into a search by the library, kept a server busy for minutes.
  'a key named by an expression': {
    sent: beside("#_key' or count(//*)&gt;0 or 'a'='b"),
    reason: /refers to another key/,
  },
};

t.test('forged encrypted responses are rejected', async (t) => {
  const fixture = await samlFixture(t);
  const { provider } = fixture;
  const own = samlKeys();
  await fixture.provideSaml({ certificate: own.certificate }, { privateKey: own.privateKey });
  const honest = async (sent?: (xml: string) => string) => {
    provider.encrypts = { certificate: own.certificate, cipher: AES_GCM };
    provider.lie = sent === undefined ? {} : { sent };
    const response = await fixture.enter('acme');
    return `${response.statusCode} ${response.statusCode === 200 ? '' : await fixture.reason()}`;
  };
  t.equal(await honest(), '200 ');
  t.equal(await honest(beside('#_key')), '200 ', 'a key beside the content is found by its id');
  for (const [name, { cipher = AES_GCM, sent, reason }] of Object.entries(LIES)) {
    await t.test(`rejected: ${name}`, async (t) => {
      provider.encrypts = { certificate: own.certificate, cipher };
      provider.lie = { sent };
      t.equal((await fixture.outcome('acme')).error, 'provider-response-invalid');
      t.match(await fixture.reason(), reason);
    });
  }
});
