/**
 * The only file that uses @fastify/jwt: signs and verifies tokens with one key and one algorithm. The plugin needs a
 * Fastify instance; it gets one that never listens, so that tokens can be created without a server.
 */
import jwt from '@fastify/jwt';
import Fastify from 'fastify';

export interface TokenKey {
  readonly kid: string;
  /** PEM, SubjectPublicKeyInfo. */
  readonly publicKey: string;
  /** PEM, PKCS #8. */
  readonly privateKey: string;
}

export interface TokenOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly lifetimeMs: number;
}

export interface JwtSigner {
  /** The first part of every token that this key signs; a token that begins differently is not from this key. */
  readonly header: string;
  sign(claims: Readonly<Record<string, unknown>>): string;
  /** The claims of a token with valid signature, issuer, audience and times; throws for any other. */
  verify(token: string): Readonly<Record<string, unknown>>;
}

/** RFC 9068 section 2.1. */
const TYPE = 'at+jwt';
/**
 * How far the clock of the signing process may be ahead of ours. One of two machines always is, and a token is used
 * right after it was issued. The library then accepts a token for that much longer, too; the authenticator checks the
 * exact end.
 */
const AHEAD_MS = 10_000;

export async function createJwtSigner(
  key: TokenKey,
  { issuer, audience, lifetimeMs }: TokenOptions,
): Promise<JwtSigner> {
  const holder = Fastify();
  await holder.register(jwt, {
    secret: { private: key.privateKey, public: key.publicKey },
    sign: {
      algorithm: 'EdDSA',
      kid: key.kid,
      iss: issuer,
      aud: audience,
      expiresIn: lifetimeMs / 1_000,
      notBefore: 0,
      header: { alg: 'EdDSA', typ: TYPE },
    },
    verify: {
      algorithms: ['EdDSA'],
      allowedIss: issuer,
      allowedAud: audience,
      checkTyp: TYPE,
      requiredClaims: ['iss', 'aud', 'sub', 'sid', 'iat', 'exp', 'nbf'],
      clockTolerance: AHEAD_MS,
      cache: false,
    },
  });
  await holder.ready();
  const sign = (claims: Readonly<Record<string, unknown>>) => holder.jwt.sign({ ...claims });
  return {
    header: sign({ sub: '' }).split('.', 1)[0] ?? '',
    sign,
    verify: (token) => holder.jwt.verify<Record<string, unknown>>(token),
  };
}
