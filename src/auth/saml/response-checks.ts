/**
 * What a response and its assertion must contain (SAML Profiles 2.0 section 4.1.4, SAML Core 2.0): issuer, audience,
 * recipient, times, and the request. The library leaves most of it to its caller. Pure.
 */
import type { XmlElement } from '@xmldom/xmldom';
import { readElementId } from './signature-checks.ts';
import {
  childrenByName,
  childrenOf,
  elementText,
  hasElementName,
  listAllElements,
  optionalChild,
  readXml,
  readXmlAttribute,
  requireOnlyChild,
  SamlRejection,
  XML_NAMESPACES,
} from './xml.ts';

/** Allowed difference of clocks, in milliseconds. */
export const CLOCK_SKEW_MS = 60_000;
/** Maximum age of a message without an expiry. */
const MAX_AGE_MS = 10 * 60_000;
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success';
const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer';
/** Conditions that can be ignored: an assertion works once here, and is not passed on. */
const KNOWN_CONDITIONS = new Set(['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']);
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

/** The expected values of a response. */
export interface ExpectedSamlResponse {
  /** Entity id of the provider. */
  readonly issuer: string;
  /** Our own entity id. */
  readonly audience: string;
  /** Where responses are received. */
  readonly recipient: string;
  /** The request; null for an unsolicited response. */
  readonly inResponseTo: string | null;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface NameId {
  readonly value: string;
  readonly format: string | null;
  readonly nameQualifier: string | null;
  readonly spNameQualifier: string | null;
}

/** The content of an assertion about a user. */
export interface SamlAssertion {
  readonly id: string;
  readonly nameId: NameId;
  readonly attributes: ReadonlyMap<string, readonly string[]>;
  readonly sessionIndex: string | null;
  /** When it expires, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** A status other than success: the provider denied the sign-in. */
export class SamlStatusError extends SamlRejection {}

/**
 * The one assertion of a response, encrypted or not. @throws SamlRejection where there is none, another one, or one at
 * another position
 */
export function findSingleAssertion(root: XmlElement): XmlElement {
  const all = listAllElements(root);
  const found = all.filter(({ localName }) => localName === 'Assertion' || localName === 'EncryptedAssertion');
  if (found.length !== 1) throw new SamlRejection(`there are ${found.length} assertions`);
  if (all.some((one) => one !== root && one.localName === 'Response')) {
    throw new SamlRejection('there is a response within the response');
  }
  const [assertion] = childrenOf(root).filter(
    (one) => hasElementName(one, 'assertion', 'Assertion') || hasElementName(one, 'assertion', 'EncryptedAssertion'),
  );
  if (assertion === undefined) throw new SamlRejection('the assertion is at another position');
  return assertion;
}

/** Checks a response around its assertion. @throws SamlRejection; SamlStatusError where the provider denied the sign-in */
export function checkSamlResponse(root: XmlElement, expected: ExpectedSamlResponse): void {
  checkSamlMessage(root, 'Response', expected.recipient, expected);
  checkInResponseTo(root, expected);
  checkSamlStatus(root);
}

/** What every message must contain. @throws SamlRejection */
export function checkSamlMessage(
  root: XmlElement,
  name: string,
  destination: string,
  expected: { issuer: string },
): void {
  if (!hasElementName(root, 'protocol', name)) throw new SamlRejection(`the message is not a ${name}`);
  readElementId(root);
  if (readXmlAttribute(root, 'Version') !== '2.0')
    throw new SamlRejection('the message is of another version than SAML 2.0');
  if (readXmlAttribute(root, 'Destination') !== destination)
    throw new SamlRejection('the message has another Destination');
  const issuer = optionalChild(root, 'assertion', 'Issuer');
  if (issuer !== null && elementText(issuer) !== expected.issuer)
    throw new SamlRejection('the message has another Issuer');
}

/** @throws SamlRejection where a message responds to something else */
export function checkInResponseTo(element: XmlElement, { inResponseTo }: { inResponseTo: string | null }): void {
  const response = readXmlAttribute(element, 'InResponseTo');
  if (response === inResponseTo) return;
  throw new SamlRejection(
    response === null ? `${element.localName} has no InResponseTo` : `${element.localName} has another InResponseTo`,
  );
}

/** @throws SamlStatusError for every status except success */
export function checkSamlStatus(root: XmlElement): void {
  const status = readXmlAttribute(
    requireOnlyChild(requireOnlyChild(root, 'protocol', 'Status'), 'protocol', 'StatusCode'),
    'Value',
  );
  if (status !== SUCCESS) throw new SamlStatusError(`the status is ${String(status).slice(0, 120)}`);
}

/** Parses an assertion whose signature was verified. @param xml exactly what was signed @throws SamlRejection */
export function readAssertion(xml: string, expected: ExpectedSamlResponse): SamlAssertion {
  const root = readXml(xml);
  if (!hasElementName(root, 'assertion', 'Assertion'))
    throw new SamlRejection('the signed element is not an assertion');
  if (listAllElements(root).some((one) => one !== root && one.localName === 'Assertion')) {
    throw new SamlRejection('there is an assertion within the assertion');
  }
  if (readXmlAttribute(root, 'Version') !== '2.0')
    throw new SamlRejection('the assertion is of another version than SAML 2.0');
  if (elementText(requireOnlyChild(root, 'assertion', 'Issuer')) !== expected.issuer) {
    throw new SamlRejection('the assertion has another Issuer');
  }
  const subject = requireOnlyChild(root, 'assertion', 'Subject');
  const deadAt = checkConfirmation(subject, expected);
  checkConditions(requireOnlyChild(root, 'assertion', 'Conditions'), expected);
  const statements = childrenByName(root, 'assertion', 'AuthnStatement');
  if (statements.length === 0) throw new SamlRejection('the assertion does not say that the user signed in');
  return {
    id: readElementId(root),
    nameId: readNameId(requireOnlyChild(subject, 'assertion', 'NameID')),
    attributes: readAttributes(root),
    sessionIndex: statements.flatMap((one) => readXmlAttribute(one, 'SessionIndex') ?? [])[0] ?? null,
    expiresAt: deadAt,
  };
}

/** @throws SamlRejection */
export function readNameId(element: XmlElement): NameId {
  const value = elementText(element);
  if (value.trim() === '') throw new SamlRejection('the NameID is empty');
  return {
    value,
    format: readXmlAttribute(element, 'Format'),
    nameQualifier: readXmlAttribute(element, 'NameQualifier'),
    spNameQualifier: readXmlAttribute(element, 'SPNameQualifier'),
  };
}

/** Checks that a message was issued a moment ago. @throws SamlRejection */
export function checkIssueInstant(root: XmlElement, now: number): void {
  const issued = instantOf(root, 'IssueInstant');
  if (issued === null || issued > now + CLOCK_SKEW_MS || issued < now - MAX_AGE_MS) {
    throw new SamlRejection('the message was not issued a moment ago');
  }
}

/** Checks an instant, where there is one, against the clock. @throws SamlRejection */
export function checkValidityPeriod(element: XmlElement, now: number): void {
  const [from, until] = [instantOf(element, 'NotBefore'), instantOf(element, 'NotOnOrAfter')];
  if (from !== null && now + CLOCK_SKEW_MS < from) throw new SamlRejection(`${element.localName} is not valid yet`);
  if (until !== null && now - CLOCK_SKEW_MS >= until) throw new SamlRejection(`${element.localName} has expired`);
}

/** A bearer assertion is valid here, in time, in response to this request. @returns when that ends */
function checkConfirmation(subject: XmlElement, expected: ExpectedSamlResponse): number {
  const all = childrenByName(subject, 'assertion', 'SubjectConfirmation');
  const [confirmation, second] = all.filter((one) => readXmlAttribute(one, 'Method') === BEARER);
  if (confirmation === undefined || second !== undefined)
    throw new SamlRejection('the subject does not have exactly one confirmation');
  const facts = requireOnlyChild(confirmation, 'assertion', 'SubjectConfirmationData');
  if (readXmlAttribute(facts, 'Recipient') !== expected.recipient) {
    throw new SamlRejection('the assertion has another Recipient');
  }
  checkValidityPeriod(facts, expected.now);
  checkInResponseTo(facts, expected);
  const until = instantOf(facts, 'NotOnOrAfter');
  if (until === null) throw new SamlRejection('the confirmation of the subject has no expiry');
  return until + CLOCK_SKEW_MS;
}

function checkConditions(conditions: XmlElement, { audience, now }: ExpectedSamlResponse): void {
  checkValidityPeriod(conditions, now);
  const unknown = childrenOf(conditions).find(
    ({ localName, namespaceURI }) => namespaceURI !== XML_NAMESPACES.assertion || !KNOWN_CONDITIONS.has(localName),
  );
  if (unknown !== undefined) throw new SamlRejection(`the assertion has an unknown condition ${unknown.localName}`);
  const restrictions = childrenByName(conditions, 'assertion', 'AudienceRestriction');
  if (restrictions.length === 0) throw new SamlRejection('the assertion has no audience');
  for (const restriction of restrictions) {
    if (!childrenByName(restriction, 'assertion', 'Audience').map(elementText).includes(audience)) {
      throw new SamlRejection('the assertion has another audience');
    }
  }
}

/** Values that are elements themselves are dropped. */
function readAttributes(root: XmlElement): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const statements = childrenByName(root, 'assertion', 'AttributeStatement');
  for (const attribute of statements.flatMap((one) => childrenByName(one, 'assertion', 'Attribute'))) {
    const values = childrenByName(attribute, 'assertion', 'AttributeValue')
      .filter((value) => childrenOf(value).length === 0)
      .map(elementText);
    const name = readXmlAttribute(attribute, 'Name') ?? '';
    found.set(name, [...(found.get(name) ?? []), ...values]);
  }
  return found;
}

function instantOf(element: XmlElement, name: string): number | null {
  const text = readXmlAttribute(element, name);
  if (text === null) return null;
  const instant = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant)) throw new SamlRejection(`${name} is not a time in UTC`);
  return instant;
}
