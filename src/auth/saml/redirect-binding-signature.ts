/**
 * The signature of a message in a URL (SAML Bindings 2.0 section 3.4.4.1). It covers the text of the parameters as it
 * was sent, so that text is parsed here, and each parameter must occur only once. Pure.
 */
import { verify } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { decodeUtf8, SamlRejection } from './xml.ts';

const MAX_BYTES = 65_536;
const METHODS: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': 'sha512',
};

/**
 * Verifies a message in a URL.
 * @param query the text after `?`
 * @param certificates PEM
 * @returns the message as XML
 * @throws SamlRejection
 */
export function verifyRedirectSignature(query: string, name: string, certificates: readonly string[]): string {
  const parts = new Map<string, string>();
  for (const part of query.split('&')) {
    const [key = '', ...value] = part.split('=');
    // Another spelling of a name would be read as the parameter, and not be signed.
    if (!/^[A-Za-z]*$/.test(key)) throw new SamlRejection('a parameter has an unusual spelling');
    if (parts.has(key)) throw new SamlRejection(`the parameter ${key.slice(0, 40)} occurs twice`);
    parts.set(key, value.join('='));
  }
  const signature = parts.get('Signature');
  const method = decoded(parts.get('SigAlg') ?? '');
  if (signature === undefined || method === '') throw new SamlRejection('the message is not signed');
  const digest = METHODS[method];
  if (digest === undefined)
    throw new SamlRejection(`the message is signed by ${method.replace(/^.*#/, '').slice(0, 40)}`);
  const signed = [name, 'RelayState', 'SigAlg'].flatMap((key) => {
    const value = parts.get(key);
    return value === undefined ? [] : [`${key}=${value}`];
  });
  const [text, bytes] = [Buffer.from(signed.join('&')), Buffer.from(decoded(signature), 'base64')];
  if (!certificates.some((one) => verify(digest, text, one, bytes))) {
    throw new SamlRejection('no known key made the signature');
  }
  try {
    const packed = Buffer.from(decoded(parts.get(name) ?? ''), 'base64');
    return decodeUtf8(inflateRawSync(packed, { maxOutputLength: MAX_BYTES }));
  } catch (error) {
    throw new SamlRejection('the message is not compressed correctly', { cause: error });
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new SamlRejection('a parameter is not encoded correctly');
  }
}
