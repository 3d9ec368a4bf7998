/**
 * Passkeys for tests, created and verified like a browser and its authenticator do (WebAuthn Level 3, CTAP 2.1), with
 * every part open to falsification. It shares no code with the server.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** Falsifications by a browser and an authenticator. */
export interface Lies {
  readonly origin?: string;
  /** The RP id of which the authenticator signs the hash. */
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly counter?: number;
  readonly isVerified?: boolean;
  readonly userHandle?: string;
  /** Another key signs. */
  readonly key?: KeyObject;
}

const FLAGS = { present: 1, verified: 4, attested: 64 };

export class SoftPasskey {
  readonly id = randomBytes(16).toString('base64url');
  readonly #origin: string;
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  #userHandle = '';
  #counter = 0;

  /** @param origin the page that calls `navigator.credentials` */
  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Implements `navigator.credentials.create`. */
  create({ challenge, rp, user }: { challenge: string; rp: { id: string }; user: { id: string } }, lies: Lies = {}) {
    this.#userHandle = user.id;
    const { x = '', y = '' } = this.#keys.publicKey.export({ format: 'jwk' });
    // COSE_Key of RFC 9053: EC2, ES256, P-256.
    const coordinates = [Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')] as const;
    const cose = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, coordinates[0]],
      [-3, coordinates[1]],
    ]);
    const id = Buffer.from(this.id, 'base64url');
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, cbor(cose)]);
    const authData = Buffer.concat([this.#authData(rp.id, FLAGS.attested, lies), attested]);
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    const clientDataJSON = this.#clientData('webauthn.create', challenge, lies);
    return this.#credential({ clientDataJSON, attestationObject: cbor(attestation).toString('base64url') });
  }

  /** Implements `navigator.credentials.get`. */
  get({ challenge, rpId }: { challenge: string; rpId: string }, lies: Lies = {}) {
    this.#counter += 1;
    const handle = lies.userHandle ?? this.#userHandle;
    const authData = this.#authData(rpId, 0, lies);
    const clientDataJSON = this.#clientData('webauthn.get', challenge, lies);
    const clientHash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();
    const signature = sign('sha256', Buffer.concat([authData, clientHash]), lies.key ?? this.#keys.privateKey);
    return this.#credential({
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: signature.toString('base64url'),
      ...(handle === '' ? {} : { userHandle: handle }),
    });
  }

  #credential<T extends object>(response: T) {
    const { id } = this;
    return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} };
  }

  #clientData(type: string, challenge: string, lies: Lies): string {
    const reported = {
      type: lies.type ?? type,
      challenge: lies.challenge ?? challenge,
      origin: lies.origin ?? this.#origin,
    };
    return Buffer.from(JSON.stringify({ ...reported, crossOrigin: false })).toString('base64url');
  }

  #authData(rpId: string, more: number, lies: Lies): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(lies.counter ?? this.#counter);
    const flags = FLAGS.present | (lies.isVerified === false ? 0 : FLAGS.verified) | more;
    const hash = createHash('sha256')
      .update(lies.rpId ?? rpId)
      .digest();
    return Buffer.concat([hash, Buffer.from([flags]), counter]);
  }
}

/** Encodes what a passkey needs of RFC 8949: integers, bytes, texts and maps. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map) {
    return Buffer.concat([head(5, value.size), ...[...value].flat().map(cbor)]);
  }
  throw new TypeError(`${typeof value} is not encoded`);
}

function head(major: number, length: number): Buffer {
  if (length < 24) return Buffer.from([(major << 5) | length]);
  if (length < 256) return Buffer.from([(major << 5) | 24, length]);
  return Buffer.from([(major << 5) | 25, length >> 8, length & 255]);
}
