/**
 * The door to @fastify/jwt: signs and verifies tokens with one key and one algorithm. The plugin wants a Fastify to
 * decorate; it gets one of its own that never listens, so that tokens can be made by parts that know no server.
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

export interface TokenTerms {
  readonly issuer: string;
  readonly audience: string;
  readonly lifetimeMs: number;
}

export interface Jwt {
  /** The first part of every token this key signs; a token that begins otherwise is not its. */
  readonly header: string;
  sign(claims: Readonly<Record<string, unknown>>): string;
  /** The claims of a token whose signature, issuer, audience and times are right; throws for any other. */
  verify(token: string): Readonly<Record<string, unknown>>;
}

/** RFC 9068 section 2.1. */
const TYPE = 'at+jwt';
/**
 * By how much the clock of the process that signed may be ahead of this one's: of two machines one always is, and a token is
 * used the moment it was given. Its end would come later by as much; the authenticator holds to it exactly.
 */
const AHEAD_MS = 10_000;

export async function openJwt(key: TokenKey, { issuer, audience, lifetimeMs }: TokenTerms): Promise<Jwt> {
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
