/** Logout messages of a SAML provider, by redirect and by form, signed or not. */
import { sign } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { SamlKeys } from './certificate.ts';
import { instant, SUCCESS, signed } from './messages.ts';
import { PERSISTENT } from './saml-provider.ts';

const SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
let ids = 0;

export interface LogOutFacts {
  readonly issuer: string;
  readonly destination: string;
  readonly nameId?: string;
  readonly id?: string;
  readonly at?: number;
  readonly inResponseTo?: string;
  readonly status?: string;
}

export function logOutRequest({ nameId = 'ada-of-the-tests', ...facts }: LogOutFacts): string {
  return message('LogoutRequest', facts, `<saml:NameID Format="${PERSISTENT}">${nameId}</saml:NameID>`);
}

export function logOutResponse({ status = SUCCESS, ...facts }: LogOutFacts): string {
  return message('LogoutResponse', facts, `<samlp:Status><samlp:StatusCode Value="${status}"/></samlp:Status>`);
}

/** The query of a message by redirect. */
export function byRedirect(
  name: 'SAMLRequest' | 'SAMLResponse',
  xml: string,
  { keys, relayState = '', algorithm = SHA256 }: { keys: SamlKeys | null; relayState?: string; algorithm?: string },
): string {
  const packed = `${name}=${encodeURIComponent(deflateRawSync(xml).toString('base64'))}`;
  const text = relayState === '' ? packed : `${packed}&RelayState=${encodeURIComponent(relayState)}`;
  if (keys === null) return text;
  const whole = `${text}&SigAlg=${encodeURIComponent(algorithm)}`;
  const hash = algorithm.endsWith('sha1') ? 'sha1' : 'sha256';
  return `${whole}&Signature=${encodeURIComponent(sign(hash, Buffer.from(whole), keys.privateKey).toString('base64'))}`;
}

/** The fields of a message by form. */
export function byForm(
  name: 'SAMLRequest' | 'SAMLResponse',
  xml: string,
  keys: SamlKeys | null,
): Record<string, string> {
  const element = /<samlp:(\w+)/.exec(xml)?.[1] ?? '';
  return { [name]: Buffer.from(keys === null ? xml : signed(xml, element, keys)).toString('base64') };
}

/** The XML of a message that came by redirect. */
export function unpacked(address: URL, name: 'SAMLRequest' | 'SAMLResponse'): string {
  return inflateRawSync(Buffer.from(address.searchParams.get(name) ?? '', 'base64')).toString();
}

function message(element: string, facts: LogOutFacts, content: string): string {
  ids += 1;
  const { issuer, destination, id = `_logout-${ids}`, at = Date.now(), inResponseTo } = facts;
  const response = inResponseTo === undefined ? '' : ` InResponseTo="${inResponseTo}"`;
  return (
    `<samlp:${element} xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ` +
    `ID="${id}" Version="2.0" IssueInstant="${instant(at)}" Destination="${destination}"${response}>` +
    `<saml:Issuer>${issuer}</saml:Issuer>${content}</samlp:${element}>`
  );
}
