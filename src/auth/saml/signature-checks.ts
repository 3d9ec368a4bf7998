/**
 * Which signatures a message may have (SAML Core 2.0 section 5.4), checked before any is verified: each over its parent
 * element, with the two transforms that SAML allows, and with no algorithm that can be forged. Moving a signed element
 * to another position ("signature wrapping") fails here. Pure.
 */
import type { XmlElement } from '@xmldom/xmldom';
import {
  childrenByName,
  childrenOf,
  hasElementName,
  listAllElements,
  readXmlAttribute,
  requireOnlyChild,
  SamlRejection,
} from './xml.ts';

const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const MORE = 'http://www.w3.org/2001/04/xmldsig-more#';
const METHODS = new Set([`${MORE}rsa-sha256`, `${MORE}rsa-sha512`]);
const DIGESTS = new Set(['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512']);
const PARTS = new Set(['SignedInfo', 'SignatureValue', 'KeyInfo']);
const ID = /^[A-Za-z_][\w.-]{0,255}$/;

/** The id of a message or an assertion. @throws SamlRejection for none, or an unusual one */
export function readElementId(element: XmlElement): string {
  const id = readXmlAttribute(element, 'ID') ?? '';
  if (!ID.test(id)) throw new SamlRejection(`${element.localName} has no usable ID`);
  return id;
}

/**
 * Checks every signature of a document, and its ids.
 * @param owners the elements that may be signed
 * @returns those of them that have a signature
 * @throws SamlRejection
 */
export function findUnverifiedSignedElements(root: XmlElement, owners: readonly XmlElement[]): readonly XmlElement[] {
  const all = listAllElements(root);
  // The library finds an element by any of these names, in any namespace.
  const ids = all.flatMap(({ attributes }) =>
    Array.from(attributes).flatMap(({ name, value }) => (/^(?:.*:)?id$/i.test(name) ? [value] : [])),
  );
  if (new Set(ids).size !== ids.length) throw new SamlRejection('an ID is used twice');
  const signed = all
    .filter(({ localName }) => localName === 'Signature')
    .map((signature) => {
      const owner = owners.find((one) => one === signature.parentNode);
      if (owner === undefined || !hasElementName(signature, 'signature', 'Signature')) {
        throw new SamlRejection('a signature is at another element');
      }
      checkSignature(signature, readElementId(owner));
      return owner;
    });
  if (new Set(signed).size !== signed.length) throw new SamlRejection('an element has two signatures');
  return signed;
}

function checkSignature(signature: XmlElement, owner: string): void {
  if (childrenOf(signature).some(({ localName }) => !PARTS.has(localName))) {
    throw new SamlRejection('a signature has its own objects');
  }
  const facts = requireOnlyChild(signature, 'signature', 'SignedInfo');
  requireOnlyChild(signature, 'signature', 'SignatureValue');
  if (readAlgorithmAttribute(requireOnlyChild(facts, 'signature', 'CanonicalizationMethod')) !== EXCLUSIVE) {
    throw new SamlRejection('a signature has another canonical form than the exclusive one');
  }
  const method = readAlgorithmAttribute(requireOnlyChild(facts, 'signature', 'SignatureMethod'));
  if (!METHODS.has(method))
    throw new SamlRejection(`a signature is by ${shortAlgorithmName(method)}, which is not accepted`);
  const reference = requireOnlyChild(facts, 'signature', 'Reference');
  if (readXmlAttribute(reference, 'URI') !== `#${owner}`)
    throw new SamlRejection('a signature is over another element');
  const transforms = childrenByName(
    requireOnlyChild(reference, 'signature', 'Transforms'),
    'signature',
    'Transform',
  ).map(readAlgorithmAttribute);
  if (transforms.length !== 2 || !transforms.includes(ENVELOPED) || !transforms.includes(EXCLUSIVE)) {
    throw new SamlRejection('a signature has other transforms than the two of SAML');
  }
  const digest = readAlgorithmAttribute(requireOnlyChild(reference, 'signature', 'DigestMethod'));
  if (!DIGESTS.has(digest))
    throw new SamlRejection(`a digest is by ${shortAlgorithmName(digest)}, which is not accepted`);
}

/** The algorithm of an element; empty for none. */
export function readAlgorithmAttribute(element: XmlElement): string {
  return readXmlAttribute(element, 'Algorithm') ?? '';
}

/** The end of an algorithm's name, for messages. */
export function shortAlgorithmName(algorithm: string): string {
  return algorithm.replace(/^.*[#/]/, '').slice(0, 40) || 'nothing';
}
