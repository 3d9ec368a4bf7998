/** Messages of a SAML provider as text, signed by `xml-crypto` and encrypted by `xml-encryption`. */
import { promisify } from 'node:util';
import { SignedXml } from 'xml-crypto';
import { type EncryptionAlgorithm, encrypt } from 'xml-encryption';
import type { SamlKeys } from './certificate.ts';

const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';

/** The content of a response. */
export interface SamlFacts {
  readonly id: string;
  readonly assertionId: string;
  /** Of the response, and of the assertion. */
  readonly responseIssuer: string;
  readonly issuer: string;
  readonly audience: string;
  readonly recipient: string;
  readonly destination: string;
  /** Null for an unsolicited response. */
  readonly inResponseTo: string | null;
  /** As XML. */
  readonly nameId: string;
  readonly format: string;
  readonly sessionIndex: string;
  /** As XML. */
  readonly attributes: Readonly<Record<string, readonly string[]>>;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
  readonly notOnOrAfter: number;
  readonly status: string;
}

export interface SigningWays {
  readonly signatureAlgorithm?: string;
  readonly digestAlgorithm?: string;
  readonly transforms?: readonly string[];
  readonly canonical?: string;
  /** The element that is signed, where the signature is in another one. */
  readonly over?: string;
}

export const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';

export function assertionXml(facts: SamlFacts): string {
  const [from, until] = [instant(facts.notBefore), instant(facts.notOnOrAfter)];
  const values = Object.entries(facts.attributes).map(
    ([name, texts]) =>
      `<saml:Attribute Name="${name}">${texts.map((text) => `<saml:AttributeValue>${text}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
  );
  return (
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${facts.assertionId}" Version="2.0" ` +
    `IssueInstant="${instant(Date.now())}"><saml:Issuer>${facts.issuer}</saml:Issuer><saml:Subject>` +
    `<saml:NameID Format="${facts.format}">${facts.nameId}</saml:NameID>` +
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData ' +
    `NotOnOrAfter="${until}" Recipient="${facts.recipient}"${responding(facts)}/></saml:SubjectConfirmation>` +
    `</saml:Subject><saml:Conditions NotBefore="${from}" NotOnOrAfter="${until}"><saml:AudienceRestriction>` +
    `<saml:Audience>${facts.audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${instant(Date.now())}" SessionIndex="${facts.sessionIndex}"><saml:AuthnContext>` +
    '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>' +
    `</saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>${values.join('')}</saml:AttributeStatement>` +
    '</saml:Assertion>'
  );
}

/** @param inner the assertion, plain or encrypted */
export function responseXml(facts: SamlFacts, inner: string): string {
  return (
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${facts.id}" Version="2.0" ` +
    `IssueInstant="${instant(Date.now())}" Destination="${facts.destination}"${responding(facts)}>` +
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${facts.responseIssuer}</saml:Issuer>` +
    `<samlp:Status><samlp:StatusCode Value="${facts.status}"/></samlp:Status>${inner}</samlp:Response>`
  );
}

/** Signs the element of this name, and puts the signature after its issuer. */
export function signed(xml: string, element: string, keys: SamlKeys, ways: SigningWays = {}): string {
  const path = `//*[local-name(.)='${element}']`;
  const signer = new SignedXml({ privateKey: keys.privateKey, publicCert: keys.certificate });
  signer.signatureAlgorithm = ways.signatureAlgorithm ?? SHA256;
  signer.canonicalizationAlgorithm = ways.canonical ?? EXCLUSIVE;
  signer.addReference({
    xpath: ways.over === undefined ? path : `//*[local-name(.)='${ways.over}']`,
    transforms: ways.transforms ?? [ENVELOPED, EXCLUSIVE],
    digestAlgorithm: ways.digestAlgorithm ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
  });
  const location = { reference: `${path}/*[local-name(.)='Issuer']`, action: 'after' } as const;
  signer.computeSignature(xml, { prefix: 'ds', location });
  return signer.getSignedXml();
}

export async function encrypted(xml: string, certificate: string, cipher: EncryptionAlgorithm): Promise<string> {
  const content = await promisify(encrypt)(xml, {
    rsa_pub: certificate,
    pem: certificate,
    encryptionAlgorithm: cipher,
    keyEncryptionAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  });
  return `<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${content}</saml:EncryptedAssertion>`;
}

export function instant(time: number): string {
  return new Date(time).toISOString();
}

function responding({ inResponseTo }: SamlFacts): string {
  return inResponseTo === null ? '' : ` InResponseTo="${inResponseTo}"`;
}
