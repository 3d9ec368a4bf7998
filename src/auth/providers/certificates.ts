/**
 * SAML certificates: the keys of a provider that verify its signatures, and our own. A certificate contributes its key
 * and its dates; its issuer does not matter, because an administrator or metadata lists it. Pure.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';

const MIN_BITS = 2_048;

/** Parses a certificate as PEM, or as the Base64 of metadata; null if it is not valid. */
export function readCertificate(text: string): X509Certificate | null {
  const base64 = text.replace(/-----(?:BEGIN|END) CERTIFICATE-----/g, '').replace(/\s/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  try {
    return new X509Certificate(Buffer.from(base64, 'base64'));
  } catch {
    return null;
  }
}

/** The error of a certificate, as the end of a sentence; null for none. Its dates are not checked. */
export function certificateIssue(text: string): string | null {
  const read = readCertificate(text);
  if (read === null) return 'must be a certificate (X.509), as PEM';
  const { asymmetricKeyType, asymmetricKeyDetails } = read.publicKey;
  if (asymmetricKeyType !== 'rsa') return 'must have an RSA key';
  const bits = asymmetricKeyDetails?.modulusLength ?? 0;
  return bits < MIN_BITS ? `has a key of ${bits} bits; at least ${MIN_BITS} are required` : null;
}

/** The certificates that are valid now, as PEM. @param now milliseconds since 1970 */
export function usableCertificates(texts: readonly string[], now: number): string[] {
  return texts.flatMap((text) => {
    const read = certificateIssue(text) === null ? readCertificate(text) : null;
    if (read === null || read.validFromDate.getTime() > now || read.validToDate.getTime() <= now) return [];
    return [read.toString()];
  });
}

/** Whether a private key, as PEM, is an RSA key of sufficient length. */
export function isSamlKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem);
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_BITS;
  } catch {
    return false;
  }
}

/** Whether a certificate belongs to a private key. */
export function isCertificateOf(certificate: string, pem: string): boolean {
  return readCertificate(certificate)?.checkPrivateKey(createPrivateKey(pem)) ?? false;
}
