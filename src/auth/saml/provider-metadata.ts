/**
 * Parses the metadata of a SAML provider (SAML Metadata 2.0): its entity id, its sign-in and logout URLs, and the
 * certificates of its keys. During a change of keys there are several, and each is valid. Pure.
 */
import type { XmlElement } from '@xmldom/xmldom';
import { childrenByName, hasElementName, listAllElements, readXml, readXmlAttribute, SamlRejection } from './xml.ts';

const BINDING = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const;
const SAML_2 = 'urn:oasis:names:tc:SAML:2.0:protocol';

export interface SamlMetadata {
  readonly issuer: string;
  readonly entryPoints: { readonly redirect: string | null; readonly post: string | null };
  /** Where logout requests go, by redirect; null where there is no such URL. */
  readonly logoutUrl: string | null;
  /** Where responses to such requests go. */
  readonly logoutResponseUrl: string | null;
  readonly certificates: readonly string[];
  readonly wantsSigned: boolean;
  /** In milliseconds since 1970; null for no end. */
  readonly validUntil: number | null;
}

/**
 * Parses the metadata of one provider.
 * @param issuer its entity id, where the document has several
 * @throws SamlRejection
 */
export function readSamlMetadata(text: string, issuer: string | undefined): SamlMetadata {
  const root = readXml(text, { comments: true });
  const entities = listAllElements(root)
    .filter((one) => hasElementName(one, 'metadata', 'EntityDescriptor'))
    .flatMap((entity) => childrenByName(entity, 'metadata', 'IDPSSODescriptor').map((role) => ({ entity, role })))
    .filter(({ role }) => (readXmlAttribute(role, 'protocolSupportEnumeration') ?? '').split(/\s+/).includes(SAML_2));
  const fitting = entities.filter(
    ({ entity }) => issuer === undefined || readXmlAttribute(entity, 'entityID') === issuer,
  );
  const [found, second] = fitting;
  if (found === undefined)
    throw new SamlRejection('the metadata has no identity provider of SAML 2.0 with this issuer');
  if (second !== undefined) throw new SamlRejection("the metadata has several providers: select one by its 'issuer'");
  const { entity, role } = found;
  const entityId = readXmlAttribute(entity, 'entityID');
  if (entityId === null || entityId === '') throw new SamlRejection('the metadata has no entity id');
  const logout = positionOf(role, 'SingleLogoutService', 'redirect');
  return {
    issuer: entityId,
    entryPoints: {
      redirect: attributeOrNull(positionOf(role, 'SingleSignOnService', 'redirect'), 'Location'),
      post: attributeOrNull(positionOf(role, 'SingleSignOnService', 'post'), 'Location'),
    },
    logoutUrl: attributeOrNull(logout, 'Location'),
    logoutResponseUrl: attributeOrNull(logout, 'ResponseLocation') ?? attributeOrNull(logout, 'Location'),
    certificates: childrenByName(role, 'metadata', 'KeyDescriptor').flatMap(certificatesOf),
    wantsSigned: readXmlAttribute(role, 'WantAuthnRequestsSigned') === 'true',
    validUntil: endOf([root, entity, role]),
  };
}

/** The URLs of a provider. */
export interface SamlEndpoints {
  readonly binding: 'redirect' | 'post';
  /** Where sign-ins start; null where the metadata has no URL for the binding. */
  readonly entryPoint: string | null;
  readonly logoutUrl: string | null;
  readonly logoutResponseUrl: string | null;
  /** All certificates. */
  readonly urls: readonly string[];
}

/** The URLs of a provider that an administrator wrote. */
export interface ConfiguredSamlEndpoints {
  readonly binding?: 'redirect' | 'post';
  readonly entryPoint?: string;
  readonly logoutUrl?: string;
}

/** The effective URLs of a provider: what an administrator wrote, completed by its metadata. */
export function resolveSamlEndpoints(
  written: ConfiguredSamlEndpoints | null,
  metadata: SamlMetadata | null,
): SamlEndpoints {
  const points = metadata?.entryPoints ?? { redirect: null, post: null };
  const binding = written?.binding ?? (metadata !== null && points.redirect === null ? 'post' : 'redirect');
  const entryPoint = written?.entryPoint ?? points[binding];
  const logoutUrl = written?.logoutUrl ?? metadata?.logoutUrl ?? null;
  const logoutResponseUrl = written?.logoutUrl ?? metadata?.logoutResponseUrl ?? null;
  const urls = [entryPoint, logoutUrl, logoutResponseUrl].filter((url) => url !== null);
  return { binding, entryPoint, logoutUrl, logoutResponseUrl, urls };
}

function positionOf(role: XmlElement, service: string, binding: keyof typeof BINDING): XmlElement | undefined {
  return childrenByName(role, 'metadata', service).find((one) => readXmlAttribute(one, 'Binding') === BINDING[binding]);
}

function attributeOrNull(element: XmlElement | undefined, name: string): string | null {
  return element === undefined ? null : readXmlAttribute(element, name);
}

function certificatesOf(key: XmlElement): readonly string[] {
  if (readXmlAttribute(key, 'use') === 'encryption') return [];
  return listAllElements(key)
    .filter((one) => hasElementName(one, 'signature', 'X509Certificate'))
    .map((one) => (one.textContent ?? '').trim());
}

function endOf(elements: readonly XmlElement[]): number | null {
  const ends = elements.flatMap((element) => {
    const text = readXmlAttribute(element, 'validUntil');
    return text === null ? [] : [Date.parse(text)];
  });
  if (ends.some(Number.isNaN)) throw new SamlRejection('validUntil of the metadata is not a time');
  return ends.length === 0 ? null : Math.min(...ends);
}
