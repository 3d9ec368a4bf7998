/**
 * Refresh tokens: what stands in one, and which follows it. The next token is derived from the one before and a key of
 * the installation, so whoever asks again with the same token gets the same successor, and the database keeps nothing
 * but a hash. Pure. Not here: which one is current (session-store.ts).
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'mrr_';
const SESSION_BYTES = 16;
const SECRET_BYTES = 32;
const LENGTH = SESSION_BYTES + 4 + SECRET_BYTES;
/** The last place in a family: its successor's would not fit into the four bytes. No family lives to reach it. */
const LAST = 2 ** 32 - 1;

export interface RefreshToken {
  /** Id of the session: one family of tokens. */
  readonly session: string;
  /** Its place in the family, from 0. */
  readonly generation: number;
  readonly secret: Buffer;
}

/** The first token of a new session. */
export function firstToken(): RefreshToken {
  return {
    session: randomBytes(SESSION_BYTES).toString('base64url'),
    generation: 0,
    secret: randomBytes(SECRET_BYTES),
  };
}

/** The token that follows, always the same one. */
export function successor({ session, generation, secret }: RefreshToken, key: Buffer): RefreshToken {
  const next = createHmac('sha256', key).update(session).update(secret).digest();
  return { session, generation: generation + 1, secret: next };
}

export function encodeToken({ session, generation, secret }: RefreshToken): string {
  const place = Buffer.alloc(4);
  place.writeUInt32BE(generation);
  return PREFIX + Buffer.concat([Buffer.from(session, 'base64url'), place, secret]).toString('base64url');
}

/** @returns null for what no token can be, and for the last place of a family, which nothing could follow */
export function decodeToken(text: string): RefreshToken | null {
  if (text.length > 200 || !text.startsWith(PREFIX)) return null;
  const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
  if (bytes.length !== LENGTH) return null;
  const token = {
    session: bytes.toString('base64url', 0, SESSION_BYTES),
    generation: bytes.readUInt32BE(SESSION_BYTES),
    secret: bytes.subarray(SESSION_BYTES + 4),
  };
  // One token has one spelling.
  return token.generation < LAST && encodeToken(token) === text ? token : null;
}

/** What the database keeps of a token. */
export function hashToken(token: RefreshToken): string {
  return createHash('sha256').update(encodeToken(token)).digest('base64url');
}

/** Tokens between an old one and the current one that are looked through at most. */
const MAX_STEPS = 5_000;

/** Whether a token was once the family's: following it leads to the current one. A made-up token leads nowhere. */
export function leadsTo(token: RefreshToken, current: { generation: number; hash: string }, key: Buffer): boolean {
  const steps = current.generation - token.generation;
  if (steps < 0 || steps > MAX_STEPS) return false;
  let last = token;
  for (let step = 0; step < steps; step++) last = successor(last, key);
  return hashToken(last) === current.hash;
}
