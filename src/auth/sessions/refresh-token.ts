/**
 * Refresh tokens: their content, and the succession of tokens. The next token is derived from the current one and a key
 * of the instance, so the same token always has the same successor, and the database stores only a hash. Pure.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'mrr_';
const SESSION_BYTES = 16;
const SECRET_BYTES = 32;
const LENGTH = SESSION_BYTES + 4 + SECRET_BYTES;
/** The highest generation: the next one would not fit into four bytes. No family lives long enough to reach it. */
const LAST = 2 ** 32 - 1;

export interface RefreshToken {
  /** Id of the session: one family of tokens. */
  readonly session: string;
  /** Its number in the family, from 0. */
  readonly generation: number;
  readonly secret: Buffer;
}

/** The first token of a new session. */
export function createRefreshToken(): RefreshToken {
  return {
    session: randomBytes(SESSION_BYTES).toString('base64url'),
    generation: 0,
    secret: randomBytes(SECRET_BYTES),
  };
}

/** The token that follows, always the same one. */
export function deriveNextRefreshToken({ session, generation, secret }: RefreshToken, key: Buffer): RefreshToken {
  const next = createHmac('sha256', key).update(session).update(secret).digest();
  return { session, generation: generation + 1, secret: next };
}

export function encodeRefreshToken({ session, generation, secret }: RefreshToken): string {
  const generationBytes = Buffer.alloc(4);
  generationBytes.writeUInt32BE(generation);
  return PREFIX + Buffer.concat([Buffer.from(session, 'base64url'), generationBytes, secret]).toString('base64url');
}

/** @returns null for a text that cannot be a token, and for the highest generation, which has no successor */
export function decodeRefreshToken(text: string): RefreshToken | null {
  if (text.length > 200 || !text.startsWith(PREFIX)) return null;
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  if (bytes.length !== LENGTH) return null;
  const token = {
    session: bytes.toString('base64url', 0, SESSION_BYTES),
    generation: bytes.readUInt32BE(SESSION_BYTES),
    secret: bytes.subarray(SESSION_BYTES + 4),
  };
  // Only one spelling of a token is accepted.
  return token.generation < LAST && encodeRefreshToken(token) === text ? token : null;
}

/** What the database stores of a token. */
export function hashRefreshToken(token: RefreshToken): string {
  return createHash('sha256').update(encodeRefreshToken(token)).digest('base64url');
}

/** Maximum number of tokens between an old one and the current one that are tried. */
const MAX_STEPS = 5_000;

/** True if a token once belonged to the family: its successors lead to the current one. A forged token's do not. */
export function isRotatedRefreshToken(
  token: RefreshToken,
  current: { generation: number; hash: string },
  key: Buffer,
): boolean {
  const steps = current.generation - token.generation;
  if (steps < 0 || steps > MAX_STEPS) return false;
  let last = token;
  for (let step = 0; step < steps; step++) last = deriveNextRefreshToken(last, key);
  return hashRefreshToken(last) === current.hash;
}
