/** RSA keys, and certificates that they sign for themselves (X.509 version 3), with a validity that a test sets. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface SamlKeys {
  /** PEM. */
  readonly privateKey: string;
  /** PEM. */
  readonly certificate: string;
}

const DAY_MS = 86_400_000;

/**
 * @param from days from now when the certificate becomes valid
 * @param until and when it expires
 */
export function samlKeys({ bits = 2_048, from = -1, until = 365 } = {}): SamlKeys {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  return withCertificate(privateKey, from, until);
}

/** The same key with another certificate. */
export function certifiedAgain({ privateKey }: SamlKeys, { from = -1, until = 365 } = {}): SamlKeys {
  return withCertificate(createPrivateKey(privateKey), from, until);
}

function withCertificate(key: KeyObject, from: number, until: number): SamlKeys {
  const pem = String(key.export({ type: 'pkcs8', format: 'pem' }));
  // sha256WithRSAEncryption
  const algorithm = sequence(Buffer.from('06092a864886f70d01010b0500', 'hex'));
  const name = sequence(
    der(0x31, sequence(Buffer.concat([Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('saml.example'))]))),
  );
  const validity = sequence(Buffer.concat([time(from), time(until)]));
  const facts = sequence(
    Buffer.concat([
      Buffer.from('a003020102', 'hex'),
      Buffer.from('020101', 'hex'),
      algorithm,
      name,
      validity,
      name,
      publicKeyOf(pem),
    ]),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', facts, key)]));
  const base64 = sequence(Buffer.concat([facts, algorithm, signature])).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return {
    privateKey: pem,
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function publicKeyOf(pem: string): Buffer {
  return createPublicKey(pem).export({ type: 'spki', format: 'der' });
}

function time(days: number): Buffer {
  const text = new Date(Date.now() + days * DAY_MS).toISOString().replace(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(text));
}

function sequence(content: Buffer): Buffer {
  return der(0x30, content);
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
