/**
 * A SAML identity provider that can falsify: its content, its signatures, and a signed message. Without a falsification
 * it is honest, needs no interaction and signs in the user that `facts` describes. The falsifications: saml-lies.ts.
 */
import { inflateRawSync } from 'node:zlib';
import type { Test } from 'tap';
import type { EncryptionAlgorithm } from 'xml-encryption';
import { formPage, type Received, type Reply, type Site, startSite } from '../providers/site.ts';
import { type SamlKeys, samlKeys } from './certificate.ts';
import { assertionXml, encrypted, responseXml, type SamlFacts, type SigningWays, SUCCESS, signed } from './messages.ts';

type SamlPart = 'assertion' | 'response';

export interface SamlLie {
  /** Changes the content. */
  readonly facts?: (facts: SamlFacts) => Partial<SamlFacts>;
  /** Changes the assertion before it is signed. */
  readonly written?: (xml: string) => string;
  /** Changes the response, with all its signatures. */
  readonly sent?: (xml: string) => string;
  readonly signing?: SigningWays;
  readonly signs?: readonly SamlPart[];
  /** Signs with another key. */
  readonly keys?: SamlKeys;
}

/** A falsification, and the reason for its rejection. */
export interface Forgery extends SamlLie {
  readonly reason: RegExp;
}

export interface SamlProvider extends Site {
  readonly issuer: string;
  keys: SamlKeys;
  /** Certificates in the metadata. */
  published: readonly SamlKeys[];
  signs: readonly SamlPart[];
  /** Encrypts for this certificate by this cipher; null for not at all. */
  encrypts: { readonly certificate: string; readonly cipher: EncryptionAlgorithm } | null;
  /** The facts about its user. */
  user: Pick<SamlFacts, 'nameId' | 'format' | 'attributes' | 'sessionIndex'>;
  lie: SamlLie;
  /** The response to a metadata request; null for the honest one. */
  metadataResponse: Reply | null;
  /** Responds to a logout request. */
  logOut: (request: Received) => Reply;
  /** The last request and the last response, as XML. */
  last: { request: string; response: string };
  /** A response, as the form field has it. */
  respond(requested: Requested): Promise<string>;
}

/** The request that a response belongs to. */
export interface Requested {
  readonly recipient: string;
  readonly audience: string;
  readonly inResponseTo: string | null;
}

export const PERSISTENT = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent';
export const AES_GCM = 'http://www.w3.org/2009/xmlenc11#aes256-gcm';
const BINDINGS = 'urn:oasis:names:tc:SAML:2.0:bindings';
let ids = 0;

export async function startSamlProvider(t: Test, keys: SamlKeys = samlKeys()): Promise<SamlProvider> {
  const site: Site = await startSite(t, async (request) => {
    const { pathname } = request.url;
    if (pathname === '/metadata') return provider.metadataResponse ?? { body: metadata() };
    if (pathname === '/slo') return provider.logOut(request);
    return pathname === '/sso' ? signIn(request) : null;
  });

  const provider: SamlProvider = {
    ...site,
    issuer: `${site.origin}/metadata`,
    keys,
    published: [keys],
    signs: ['assertion'],
    encrypts: null,
    user: {
      nameId: 'ada-of-the-tests',
      format: PERSISTENT,
      sessionIndex: '_session-1',
      attributes: { email: ['ada@provider.example'], displayName: ['Ada Lovelace'], groups: ['staff', 'editors'] },
    },
    lie: {},
    metadataResponse: null,
    logOut: () => ({ body: 'Signed out.' }),
    last: { request: '', response: '' },
    respond: async (requested) => {
      const { lie, user, encrypts } = provider;
      const honest = honestFacts(provider.issuer, requested, user);
      const facts = { ...honest, ...lie.facts?.(honest) };
      const [by, signs] = [lie.keys ?? provider.keys, lie.signs ?? provider.signs];
      const plain = (lie.written ?? same)(assertionXml(facts));
      const inner = signs.includes('assertion') ? signed(plain, 'Assertion', by, lie.signing) : plain;
      const sent = encrypts === null ? inner : await encrypted(inner, encrypts.certificate, encrypts.cipher);
      const whole = responseXml(facts, sent);
      const response = signs.includes('response') ? signed(whole, 'Response', by, lie.signing) : whole;
      provider.last.response = (lie.sent ?? same)(response);
      return Buffer.from(provider.last.response).toString('base64');
    },
  };

  async function signIn({ method, url, form }: Received): Promise<Reply> {
    const requested = method === 'POST' ? form : url.searchParams;
    const bytes = Buffer.from(requested.get('SAMLRequest') ?? '', 'base64');
    const xml = (method === 'POST' ? bytes : inflateRawSync(bytes)).toString();
    provider.last.request = xml;
    const [recipient, inResponseTo] = [attribute(xml, 'AssertionConsumerServiceURL'), attribute(xml, 'ID')];
    const audience = /Issuer[^>]*>([^<]*)</.exec(xml)?.[1] ?? '';
    const response = await provider.respond({ recipient, inResponseTo, audience });
    const fields = { SAMLResponse: response, RelayState: requested.get('RelayState') ?? '' };
    return formPage('Sign in', recipient, fields, { submits: true });
  }

  function metadata(): string {
    const certificates = provider.published.map(
      ({ certificate }) =>
        '<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>' +
        `<ds:X509Certificate>${certificate.replace(/-----.*-----/g, '')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>` +
        '</md:KeyDescriptor>',
    );
    const endpointElement = (service: string, way: string, path: string) =>
      `<md:${service} Binding="${BINDINGS}:HTTP-${way}" Location="${provider.origin}/${path}"/>`;
    return (
      '<?xml version="1.0"?><!-- Made by hand. --><md:EntityDescriptor ' +
      `xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${provider.issuer}"><md:IDPSSODescriptor ` +
      `protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${certificates.join('')}` +
      `${endpointElement('SingleLogoutService', 'Redirect', 'slo')}${endpointElement('SingleSignOnService', 'POST', 'sso')}` +
      `${endpointElement('SingleSignOnService', 'Redirect', 'sso')}</md:IDPSSODescriptor></md:EntityDescriptor>`
    );
  }

  return provider;
}

function honestFacts(issuer: string, requested: Requested, user: SamlProvider['user']): SamlFacts {
  ids += 1;
  return {
    ...user,
    ...requested,
    id: `_response-${ids}-${Date.now()}`,
    assertionId: `_assertion-${ids}-${Date.now()}`,
    issuer,
    responseIssuer: issuer,
    destination: requested.recipient,
    notBefore: Date.now() - 5_000,
    notOnOrAfter: Date.now() + 300_000,
    status: SUCCESS,
  };
}

function attribute(xml: string, name: string): string {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(xml)?.[1] ?? '';
}

function same(xml: string): string {
  return xml;
}
