/**
 * Our own metadata for one SAML provider (SAML Metadata 2.0): our entity id, the URL for responses, and our
 * certificate. Pure.
 */
import { readCertificate } from '../providers/certificates.ts';
import { callbackUrl, type Provider } from '../providers/provider.ts';
import { XML_NAMESPACES } from './xml.ts';

const BINDINGS = 'urn:oasis:names:tc:SAML:2.0:bindings';
const CIPHERS = [
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
];

/** Where logout messages are received. */
export function samlLogoutUrl(base: string, { name }: Pick<Provider, 'name'>): string {
  return `${base}/auth/saml/${name}/slo`;
}

/** @param base the public URL of this server, without a slash at its end */
export function createSpMetadata(provider: Provider, base: string): string {
  const { clientId, saml } = provider;
  const certificate = saml?.certificate === undefined ? null : readCertificate(saml.certificate);
  const signs = certificate !== null && saml?.privateKey != null;
  const keys = signs ? ['signing', 'encryption'].map((use) => keyOf(use, certificate.raw.toString('base64'))) : [];
  const logout = escaped(samlLogoutUrl(base, provider));
  const endpoints = signs
    ? ['HTTP-Redirect', 'HTTP-POST'].map(
        (way) => `<md:SingleLogoutService Binding="${BINDINGS}:${way}" Location="${logout}"/>`,
      )
    : [];
  const format =
    saml?.nameIdFormat === undefined ? [] : [`<md:NameIDFormat>${escaped(saml.nameIdFormat)}</md:NameIDFormat>`];
  const consumer = escaped(callbackUrl(base, provider));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<md:EntityDescriptor xmlns:md="${XML_NAMESPACES.metadata}" entityID="${escaped(clientId)}">`,
    `<md:SPSSODescriptor AuthnRequestsSigned="${signs}" WantAssertionsSigned="true" protocolSupportEnumeration="${XML_NAMESPACES.protocol}">`,
    ...keys,
    ...endpoints,
    ...format,
    `<md:AssertionConsumerService Binding="${BINDINGS}:HTTP-POST" Location="${consumer}" index="0" isDefault="true"/>`,
    '</md:SPSSODescriptor>',
    '</md:EntityDescriptor>',
    '',
  ].join('\n');
}

function keyOf(use: string, certificate: string): string {
  const ciphers =
    use === 'encryption' ? CIPHERS.map((one) => `<md:EncryptionMethod Algorithm="${one}"/>`).join('') : '';
  return (
    `<md:KeyDescriptor use="${use}"><ds:KeyInfo xmlns:ds="${XML_NAMESPACES.signature}"><ds:X509Data><ds:X509Certificate>` +
    `${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>${ciphers}</md:KeyDescriptor>`
  );
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (email) => `&#${email.charCodeAt(0)};`);
}
