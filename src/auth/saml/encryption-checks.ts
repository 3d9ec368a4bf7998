/**
 * How an assertion may be encrypted (XML Encryption 1.1), checked before decryption. The library finds elements by
 * their names alone, in any namespace, takes the first one, and puts the name of a key into a search (XPath). So each
 * of these names may occur only in its own namespace, and only as often as it is needed. Pure.
 */
import type { XmlElement } from '@xmldom/xmldom';
import { readAlgorithmAttribute, shortAlgorithmName } from './signature-checks.ts';
import {
  hasElementName,
  listAllElements,
  readXmlAttribute,
  requireOnlyChild,
  SamlRejection,
  type XmlNamespace,
} from './xml.ts';

/** Authenticated ciphers: a change of the content is detected, and reveals nothing about it. */
const CIPHERS = new Set(['http://www.w3.org/2009/xmlenc11#aes128-gcm', 'http://www.w3.org/2009/xmlenc11#aes256-gcm']);
const KEY_CIPHERS = new Set(['http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p']);
const SPACES: Readonly<Record<string, XmlNamespace>> = {
  EncryptedData: 'encryption',
  EncryptedKey: 'encryption',
  EncryptionMethod: 'encryption',
  CipherData: 'encryption',
  CipherValue: 'encryption',
  KeyInfo: 'signature',
  RetrievalMethod: 'signature',
  DigestMethod: 'signature',
};

/**
 * Checks an encrypted assertion. @throws SamlRejection for ciphers that are not authenticated, or too weak, and for any
 * doubt
 */
export function checkEncryptedAssertion(encrypted: XmlElement): void {
  const all = listAllElements(encrypted);
  for (const element of all) {
    const space = SPACES[element.localName];
    if (space !== undefined && !hasElementName(element, space, element.localName)) {
      throw new SamlRejection(`${element.localName} is of another namespace`);
    }
  }
  const content = requireOnlyChild(encrypted, 'encryption', 'EncryptedData');
  const called = (name: string) => all.filter(({ localName }) => localName === name);
  for (const method of called('EncryptionMethod')) {
    const taken = method.parentNode === content ? CIPHERS : KEY_CIPHERS;
    const cipher = readAlgorithmAttribute(method);
    if (!taken.has(cipher))
      throw new SamlRejection(`the assertion is encrypted by ${shortAlgorithmName(cipher)}, which is not accepted`);
  }
  // A key is in the content, or beside it.
  const keys = called('EncryptedKey');
  const [key] = keys;
  if (key === undefined || keys.length > 1) throw new SamlRejection(`there are ${keys.length} elements EncryptedKey`);
  for (const one of [content, key]) {
    requireOnlyChild(one, 'encryption', 'EncryptionMethod');
    requireOnlyChild(requireOnlyChild(one, 'encryption', 'CipherData'), 'encryption', 'CipherValue');
  }
  if (called('EncryptedData').length > 1 || called('CipherValue').length > 2) {
    throw new SamlRejection('more than the assertion is encrypted');
  }
  const id = readXmlAttribute(key, 'Id') ?? '';
  for (const named of called('RetrievalMethod')) {
    if (!/^[\w.-]+$/.test(id) || readXmlAttribute(named, 'URI') !== `#${id}`) {
      throw new SamlRejection('RetrievalMethod refers to another key');
    }
  }
}
