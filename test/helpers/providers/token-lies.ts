/**
 * Id tokens that a relying party has to reject (OpenID Connect Core section 3.1.3.7, RFC 8725), each derived from the
 * claims and keys of an honest one.
 */
import { createHmac } from 'node:crypto';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export interface Keys {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly publicJwk: JWK;
  readonly kid: string;
}

export interface TokenDeps {
  readonly claims: JWTPayload;
  readonly keys: Keys;
}

export type TokenLie = (deps: TokenDeps) => Promise<string>;

const DAY = 86_400;
const now = () => Math.floor(Date.now() / 1_000);

/** Signed correctly, with other claims; undefined removes one. */
function claiming(change: (claims: JWTPayload) => Record<string, unknown>): TokenLie {
  return ({ claims, keys }) =>
    new SignJWT(JSON.parse(JSON.stringify({ ...claims, ...change(claims) })))
      .setProtectedHeader({ alg: 'RS256', kid: keys.kid })
      .sign(keys.privateKey);
}

/** With honest claims and another header, signed by `key`, whatever it is; the header may be falsified. */
function signedBy(key: (keys: Keys) => Promise<CryptoKey>, header: (keys: Keys) => Record<string, unknown>): TokenLie {
  return async ({ claims, keys }) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header(keys) }).sign(await key(keys));
}

/** Generated once: a pair takes a sixth of a second of CPU. */
let foreign: ReturnType<typeof generateKeyPair> | undefined;
const foreignKey = async () => {
  foreign ??= generateKeyPair('RS256');
  return (await foreign).privateKey;
};

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function hmac(secret: (keys: Keys) => Promise<string>): TokenLie {
  return async ({ claims, keys }) => {
    const text = `${encoded({ alg: 'HS256', kid: keys.kid })}.${encoded(claims)}`;
    return `${text}.${createHmac('sha256', await secret(keys))
      .update(text)
      .digest('base64url')}`;
  };
}

async function honest({ claims, keys }: TokenDeps): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: keys.kid }).sign(keys.privateKey);
}

export const TOKEN_LIES: Readonly<Record<string, TokenLie>> = {
  'foreign issuer': claiming(() => ({ iss: 'https://attacker.example' })),
  'issuer with a slash more': claiming(({ iss }) => ({ iss: `${iss}/` })),
  'no issuer': claiming(() => ({ iss: undefined })),
  'wrong audience': claiming(() => ({ aud: 'another-client' })),
  'audience as a list without the client': claiming(() => ({ aud: ['another-client', 'third-client'] })),
  'no audience': claiming(() => ({ aud: undefined })),
  'several audiences without azp': claiming(({ aud }) => ({ aud: [aud, 'another-client'] })),
  'wrong azp': claiming(({ aud }) => ({ aud: [aud, 'another-client'], azp: 'another-client' })),
  'azp of another client': claiming(() => ({ azp: 'another-client' })),
  'wrong nonce': claiming(() => ({ nonce: 'of-somebody-else' })),
  'no nonce': claiming(() => ({ nonce: undefined })),
  expired: claiming(() => ({ iat: now() - DAY, exp: now() - 3_600 })),
  'without an end': claiming(() => ({ exp: undefined })),
  'not valid yet': claiming(() => ({ nbf: now() + 3_600 })),
  'issued far in the future': claiming(() => ({ iat: now() + 3_600, exp: now() + 7_200 })),
  'issued long ago': claiming(() => ({ iat: now() - 30 * DAY })),
  'without its time': claiming(() => ({ iat: undefined })),
  'no subject': claiming(() => ({ sub: undefined })),
  'subject that is no text': claiming(() => ({ sub: 7 })),
  'empty subject': claiming(() => ({ sub: '' })),
  unsigned: async (deps) => (await honest(deps)).replace(/[^.]+$/, ''),
  none: async ({ claims }) => `${encoded({ alg: 'none' })}.${encoded(claims)}.`,
  'None in capitals': async ({ claims }) => `${encoded({ alg: 'NONE' })}.${encoded(claims)}.`,
  'HS256 with the public key as PEM': hmac(({ publicKey }) => exportSPKI(publicKey)),
  'HS256 with the public key as JWK': hmac(async ({ publicJwk }) => JSON.stringify(publicJwk)),
  'HS256 with the modulus': hmac(async ({ publicJwk }) => publicJwk.n ?? ''),
  'another key with the same kid': signedBy(foreignKey, ({ kid }) => ({ kid })),
  'a key that is not published': signedBy(foreignKey, () => ({ kid: 'unknown' })),
  'another key without a kid': signedBy(foreignKey, () => ({})),
  'a key in the header': async ({ claims }) => {
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const header = { alg: 'RS256', jwk: await exportJWK(publicKey) };
    return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
  },
  'edited after it was signed': async (deps) => {
    const [head = '', , signature = ''] = (await honest(deps)).split('.');
    return `${head}.${encoded({ ...deps.claims, sub: 'somebody-else' })}.${signature}`;
  },
  'extension that is not known': ({ claims, keys: { kid, privateKey } }) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid, crit: ['x-unknown'], 'x-unknown': 1 })
      .sign(privateKey, { crit: { 'x-unknown': true } }),
  'hash of another access token': claiming(() => ({ at_hash: 'AAAAAAAAAAAAAAAAAAAAAA' })),
  'no JWT': async () => 'this-is-not-a-token',
  empty: async () => '',
};
