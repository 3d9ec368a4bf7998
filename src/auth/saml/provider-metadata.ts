/**
 * What the metadata of a SAML provider says (SAML Metadata 2.0): its entity id, where sign-ins begin and sessions end, and
 * the certificates of its keys. During a change of keys there are several, and each is good. Pure. Not here: getting it
 * (saml-sign-in/known-providers.ts).
 */
import type { XmlElement } from '@xmldom/xmldom';
import { attributeOf, elementsIn, isElementOf, named, readXml, SamlFault } from './xml.ts';

const BINDING = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const;
const SAML_2 = 'urn:oasis:names:tc:SAML:2.0:protocol';

export interface SamlMetadata {
  readonly issuer: string;
  readonly entryPoints: { readonly redirect: string | null; readonly post: string | null };
  /** Where requests to log out go, by redirect; null where there is none. */
  readonly logoutUrl: string | null;
  /** Where answers to such requests go. */
  readonly logoutAnswerUrl: string | null;
  readonly certificates: readonly string[];
  readonly wantsSigned: boolean;
  /** In milliseconds since 1970; null for no end. */
  readonly validUntil: number | null;
}

/**
 * Reads the metadata of one provider.
 * @param issuer its entity id, where the document holds several
 * @throws SamlFault
 */
export function readSamlMetadata(text: string, issuer: string | undefined): SamlMetadata {
  const root = readXml(text, { comments: true });
  const entities = elementsIn(root)
    .filter((one) => isElementOf(one, 'metadata', 'EntityDescriptor'))
    .flatMap((entity) => named(entity, 'metadata', 'IDPSSODescriptor').map((role) => ({ entity, role })))
    .filter(({ role }) => (attributeOf(role, 'protocolSupportEnumeration') ?? '').split(/\s+/).includes(SAML_2));
  const fitting = entities.filter(({ entity }) => issuer === undefined || attributeOf(entity, 'entityID') === issuer);
  const [found, second] = fitting;
  if (found === undefined) throw new SamlFault('the metadata holds no identity provider of SAML 2.0 with this issuer');
  if (second !== undefined) throw new SamlFault("the metadata holds several providers: name one by its 'issuer'");
  const { entity, role } = found;
  const entityId = attributeOf(entity, 'entityID');
  if (entityId === null || entityId === '') throw new SamlFault('the metadata names no entity id');
  const logout = placeOf(role, 'SingleLogoutService', 'redirect');
  return {
    issuer: entityId,
    entryPoints: {
      redirect: attributeOrNull(placeOf(role, 'SingleSignOnService', 'redirect'), 'Location'),
      post: attributeOrNull(placeOf(role, 'SingleSignOnService', 'post'), 'Location'),
    },
    logoutUrl: attributeOrNull(logout, 'Location'),
    logoutAnswerUrl: attributeOrNull(logout, 'ResponseLocation') ?? attributeOrNull(logout, 'Location'),
    certificates: named(role, 'metadata', 'KeyDescriptor').flatMap(certificatesOf),
    wantsSigned: attributeOf(role, 'WantAuthnRequestsSigned') === 'true',
    validUntil: endOf([root, entity, role]),
  };
}

/** Where a provider is reached. */
export interface SamlPlaces {
  readonly binding: 'redirect' | 'post';
  /** Where sign-ins begin; null where the metadata names none for the binding. */
  readonly entryPoint: string | null;
  readonly logoutUrl: string | null;
  readonly logoutAnswerUrl: string | null;
  /** All of them that there are. */
  readonly urls: readonly string[];
}

/** What an owner wrote of where a provider is reached. */
export interface WrittenPlaces {
  readonly binding?: 'redirect' | 'post';
  readonly entryPoint?: string;
  readonly logoutUrl?: string;
}

/** The URLs that are used of a provider: what an owner wrote, completed by its metadata. */
export function usedPlaces(written: WrittenPlaces | null, metadata: SamlMetadata | null): SamlPlaces {
  const points = metadata?.entryPoints ?? { redirect: null, post: null };
  const binding = written?.binding ?? (metadata !== null && points.redirect === null ? 'post' : 'redirect');
  const entryPoint = written?.entryPoint ?? points[binding];
  const logoutUrl = written?.logoutUrl ?? metadata?.logoutUrl ?? null;
  const logoutAnswerUrl = written?.logoutUrl ?? metadata?.logoutAnswerUrl ?? null;
  const urls = [entryPoint, logoutUrl, logoutAnswerUrl].filter((url) => url !== null);
  return { binding, entryPoint, logoutUrl, logoutAnswerUrl, urls };
}

function placeOf(role: XmlElement, service: string, binding: keyof typeof BINDING): XmlElement | undefined {
  return named(role, 'metadata', service).find((one) => attributeOf(one, 'Binding') === BINDING[binding]);
}

function attributeOrNull(element: XmlElement | undefined, name: string): string | null {
  return element === undefined ? null : attributeOf(element, name);
}

function certificatesOf(key: XmlElement): readonly string[] {
  if (attributeOf(key, 'use') === 'encryption') return [];
  return elementsIn(key)
    .filter((one) => isElementOf(one, 'signature', 'X509Certificate'))
    .map((one) => (one.textContent ?? '').trim());
}

function endOf(elements: readonly XmlElement[]): number | null {
  const ends = elements.flatMap((element) => {
    const text = attributeOf(element, 'validUntil');
    return text === null ? [] : [Date.parse(text)];
  });
  if (ends.some(Number.isNaN)) throw new SamlFault('validUntil of the metadata is no time');
  return ends.length === 0 ? null : Math.min(...ends);
}
