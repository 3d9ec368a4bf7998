/**
 * The keys that sign access tokens: created at the first start, rotated by `millrace signing-keys rotate`, shared by
 * all processes. An old key stays until the last token that it signed has expired. A token's key is found by the
 * token's exact header, so no other part of what a client sends there is interpreted.
 */
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createJwtSigner, type JwtSigner, type TokenOptions } from './jwt.ts';
import type { SigningKeyStore, StoredSigningKey } from './signing-key-store.ts';

/** How long another process may still sign with the old key, until it learns of the rotation; with a large margin. */
const OVERLAP_MS = 60_000;
/** Unknown keys are looked up in the database at most this often. */
const LOOK_MS = 1_000;

/** A public key as published (RFC 7517, RFC 8037). */
export interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  readonly x: string;
  readonly kid: string;
  readonly use: 'sig';
  readonly alg: 'EdDSA';
}

export interface SigningKeySetOptions {
  readonly store: SigningKeyStore;
  /** Without an issuer here, tokens carry the issuer name of the ring. */
  readonly tokenOptions: Omit<TokenOptions, 'issuer'> & { readonly issuer: string | null };
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export class SigningKeySet {
  readonly #store: SigningKeyStore;
  readonly #tokenOptions: SigningKeySetOptions['tokenOptions'];
  readonly #now: () => number;
  #issuer = '';
  #keys: readonly StoredSigningKey[] = [];
  #byHeader: ReadonlyMap<string, JwtSigner> = new Map();
  #opened = new Map<string, JwtSigner>();
  #looking: Promise<void> | null = null;
  #lookedUp = Number.NEGATIVE_INFINITY;

  constructor({ store, tokenOptions, now = Date.now }: SigningKeySetOptions) {
    this.#store = store;
    this.#tokenOptions = tokenOptions;
    this.#now = now;
  }

  /** Reads the ring, or creates it. */
  async start(): Promise<void> {
    const { keys, issuer } = await this.#store.open(makeKey(new Date(this.#now())));
    this.#issuer = this.#tokenOptions.issuer ?? issuer;
    await this.#use(keys);
  }

  /** Signs with the newest key. */
  sign(claims: Readonly<Record<string, unknown>>): string {
    const [newest] = this.#keys;
    const jwt = newest && this.#opened.get(newest.kid);
    if (jwt === undefined) throw new Error('There are no signing keys');
    return jwt.sign(claims);
  }

  /** The claims of a token; throws for every token that is not valid. */
  async verify(token: string): Promise<Readonly<Record<string, unknown>>> {
    const header = token.slice(0, Math.max(0, token.indexOf('.')));
    if (!this.#byHeader.has(header)) await this.#reloadThrottled();
    const jwt = this.#byHeader.get(header);
    if (jwt === undefined) throw new Error('No signing key matches this token');
    return jwt.verify(token);
  }

  /** The public keys, newest first, for programs that verify tokens themselves. */
  publicKeys(): PublicJwk[] {
    return this.#alive().map(({ kid, publicKey }) => {
      const { x = '' } = createPublicKey(publicKey).export({ format: 'jwk' });
      return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
    });
  }

  /**
   * Creates a new key that signs from now on.
   * @param dropOld removes the older keys at once, and with them every token they signed: for a key that leaked
   * @returns the new key's id
   */
  async rotate(dropOld = false): Promise<string> {
    for (;;) {
      const now = this.#now();
      const [signing, ...older] = await this.#store.read();
      const next = makeKey(new Date(now));
      const until = new Date(now + this.#tokenOptions.lifetimeMs + OVERLAP_MS);
      const kept = signing === undefined || dropOld ? [] : [{ ...signing, until }, ...older.filter(isAlive(now))];
      if (signing === undefined) await this.#store.open(next);
      if (signing === undefined || (await this.#store.replace(signing.kid, [next, ...kept]))) {
        await this.reload();
        return next.kid;
      }
    }
  }

  /** Reads the ring again, after it was changed elsewhere. */
  async reload(): Promise<void> {
    await this.#use(await this.#store.read());
  }

  async #reloadThrottled(): Promise<void> {
    if (this.#looking === null && this.#now() - this.#lookedUp < LOOK_MS) return;
    this.#lookedUp = this.#now();
    this.#looking ??= this.reload().finally(() => {
      this.#looking = null;
    });
    await this.#looking;
  }

  #alive(): StoredSigningKey[] {
    return this.#keys.filter(isAlive(this.#now()));
  }

  async #use(keys: readonly StoredSigningKey[]): Promise<void> {
    this.#keys = keys;
    const opened = new Map<string, JwtSigner>();
    const terms = { ...this.#tokenOptions, issuer: this.#issuer };
    for (const key of this.#alive()) {
      opened.set(key.kid, this.#opened.get(key.kid) ?? (await createJwtSigner(key, terms)));
    }
    this.#opened = opened;
    this.#byHeader = new Map([...opened.values()].map((jwt) => [jwt.header, jwt]));
  }
}

const isAlive = (now: number) => (key: StoredSigningKey) => key.until === null || key.until.getTime() > now;

function makeKey(createdAt: Date): StoredSigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { kid: randomBytes(9).toString('base64url'), publicKey, privateKey, createdAt, until: null };
}
