/**
 * Parses XML of other parties strictly: no DOCTYPE, so no entities; no comments, CDATA sections and instructions,
 * because parsers differ about the text around them; only UTF-8.
 */
import { DOMParser, type XmlElement, type XmlNode } from '@xmldom/xmldom';

export const XML_NAMESPACES = {
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
} as const;

export type XmlNamespace = keyof typeof XML_NAMESPACES;

/** The error of a message, for administrators. */
export class SamlRejection extends Error {
  override readonly name = 'SamlRejection';
}

const ELEMENT = 1;
const TEXT = 3;
const MAX_DEPTH = 40;
/** A response about a user in ten thousand groups has a third of it. */
const MAX_ELEMENTS = 50_000;
/** Of an element and those around it: the parser copies their namespaces for each element. */
const MAX_ATTRIBUTES = 128;
const DECLARATION = /^\uFEFF?<\?xml\s[^<>]*\?>/;

/** @throws SamlRejection for text that is not the Base64 of UTF-8 */
export function decodeBase64Xml(base64: string): string {
  const clean = base64.replace(/\s/g, '');
  if (clean === '' || !/^[A-Za-z0-9+/]*={0,2}$/.test(clean)) throw new SamlRejection('the message is not Base64');
  return decodeUtf8(Buffer.from(clean, 'base64'));
}

/** @throws SamlRejection for other bytes */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SamlRejection('the message is not UTF-8');
  }
}

/**
 * @param comments whether comments are skipped instead of rejected: metadata that people write has some
 * @returns the root. @throws SamlRejection
 */
export function readXml(text: string, { comments = false }: { readonly comments?: boolean } = {}): XmlElement {
  const [declaration = ''] = DECLARATION.exec(text) ?? [];
  if (/encoding\s*=/i.test(declaration) && !/encoding\s*=\s*["']utf-8["']/i.test(declaration)) {
    throw new SamlRejection('the XML has another encoding than UTF-8');
  }
  const whole = text.slice(declaration.length);
  const body = comments ? withoutComments(whole) : whole;
  if (/<!DOCTYPE|<!ENTITY/i.test(body)) throw new SamlRejection('the XML has a DOCTYPE');
  if (body.includes('<!--')) throw new SamlRejection('the XML has a comment');
  if (body.includes('<!')) throw new SamlRejection('the XML has a CDATA section');
  if (body.includes('<?')) throw new SamlRejection('the XML has an instruction');
  checkBounds(body);
  const parser = new DOMParser({
    errorHandler: (level, message) => {
      throw new SamlRejection(`the XML is not well-formed (${level}): ${String(message).slice(0, 120)}`);
    },
  });
  let root: XmlElement | null | undefined;
  try {
    root = parser.parseFromString(body, 'text/xml').documentElement;
  } catch (error) {
    if (error instanceof SamlRejection) throw error;
    throw new SamlRejection('the XML is not well-formed', { cause: error });
  }
  if (root == null) throw new SamlRejection('the XML has no root');
  return root;
}

/**
 * Bounds the parser's work, in one pass before it: its time grows with the square of the depth, and of the number of
 * attributes. Takes text without comments, CDATA sections and instructions.
 * @throws SamlRejection
 */
function checkBounds(text: string): void {
  const open: number[] = [];
  let [elements, inScope] = [0, 0];
  for (let start = text.indexOf('<'); start >= 0; ) {
    if (text[start + 1] === '/') {
      inScope -= open.pop() ?? 0;
      start = text.indexOf('<', start + 2);
      continue;
    }
    let [end, attributes] = [start + 1, 0];
    for (; end < text.length && text[end] !== '>'; end++) {
      const sign = text[end];
      if (sign !== '"' && sign !== "'") continue;
      attributes += 1;
      end = text.indexOf(sign, end + 1);
      if (end < 0) throw new SamlRejection('the XML is not well-formed: an attribute has no end');
    }
    elements += 1;
    if (elements > MAX_ELEMENTS) throw new SamlRejection(`the XML has more than ${MAX_ELEMENTS} elements`);
    if (inScope + attributes > MAX_ATTRIBUTES) throw new SamlRejection('the XML has too many attributes');
    if (text[end - 1] !== '/') {
      open.push(attributes);
      inScope += attributes;
      if (open.length > MAX_DEPTH) throw new SamlRejection('the XML nests too deep');
    }
    start = text.indexOf('<', end + 1);
  }
}

function withoutComments(text: string): string {
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf('<!--', at);
    if (start < 0) return [...kept, text.slice(at)].join('');
    const end = text.indexOf('-->', start + 4);
    if (end < 0) throw new SamlRejection('a comment of the XML has no end');
    kept.push(text.slice(at, start));
    at = end + 3;
  }
}

/** All elements within one, itself first, in the order of the document. @throws SamlRejection where they nest too deep */
export function listAllElements(root: XmlElement, depth = 0): readonly XmlElement[] {
  if (depth > MAX_DEPTH) throw new SamlRejection('the XML nests too deep');
  return [root, ...childrenOf(root).flatMap((child) => listAllElements(child, depth + 1))];
}

export function childrenOf(element: XmlElement): readonly XmlElement[] {
  return Array.from(element.childNodes).filter(isElement);
}

export function hasElementName(element: XmlElement, space: XmlNamespace, name: string): boolean {
  return element.localName === name && element.namespaceURI === XML_NAMESPACES[space];
}

/** The children of this name. */
export function childrenByName(element: XmlElement, space: XmlNamespace, name: string): readonly XmlElement[] {
  return childrenOf(element).filter((child) => hasElementName(child, space, name));
}

/** The one child of this name. @throws SamlRejection where there is none, or a second one */
export function requireOnlyChild(element: XmlElement, space: XmlNamespace, name: string): XmlElement {
  const [found, second] = childrenByName(element, space, name);
  if (found !== undefined && second === undefined) return found;
  throw new SamlRejection(`${element.localName} has ${found === undefined ? 'no' : 'more than one'} ${name}`);
}

/** The child of this name; null where there is none. @throws SamlRejection where there are two */
export function optionalChild(element: XmlElement, space: XmlNamespace, name: string): XmlElement | null {
  return childrenByName(element, space, name).length === 0 ? null : requireOnlyChild(element, space, name);
}

/** The text of an element that contains only text. @throws SamlRejection where it contains more */
export function elementText(element: XmlElement): string {
  if (Array.from(element.childNodes).some(({ nodeType }) => nodeType !== TEXT)) {
    throw new SamlRejection(`${element.localName} contains more than text`);
  }
  return element.textContent ?? '';
}

/** An attribute; null where there is none. */
export function readXmlAttribute(element: XmlElement, name: string): string | null {
  return element.hasAttribute(name) ? element.getAttribute(name) : null;
}

function isElement(node: XmlNode): node is XmlElement {
  return node.nodeType === ELEMENT;
}
