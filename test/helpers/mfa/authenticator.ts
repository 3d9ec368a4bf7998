/**
 * Second factors for tests: enrolled over HTTP, with the codes of an authenticator that shares no code with the server.
 */
import type { FastifyInstance } from 'fastify';
import { generateSync } from 'otplib';
import type { Services } from '../../../src/services.ts';
import { type Account, ask } from '../users.ts';

export interface Authenticator {
  /** The seed, base32. */
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
  /** The code of the current step, which the server accepts again: its record of used steps is cleared. */
  readonly code: () => Promise<string>;
}

/** The code that an app displays now, or this many seconds later. */
export function codeNow(secret: string, later = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + later });
}

/** A code other than those of the current step and the adjacent ones. */
export function wrongCode(secret: string): string {
  const near = new Set([-90, -60, -30, 0, 30, 60, 90].map((later) => codeNow(secret, later)));
  return ['000000', '111111', '222222', '333333', '444444', '555555', '666666', '777777'].find(
    (code) => !near.has(code),
  ) as string;
}

/** Enrolls a second factor for a user. */
export async function setUpFactor(
  app: FastifyInstance,
  { mongo }: Pick<Services, 'mongo'>,
  user: Account,
): Promise<Authenticator> {
  const { secret } = (await ask(app, 'POST /auth/mfa/totp', undefined, user)).json();
  const confirmed = await ask(app, 'POST /auth/mfa/totp/confirm', { code: codeNow(secret) }, user);
  if (confirmed.statusCode !== 200) throw new Error(confirmed.body);
  const rows = mongo.log.collection<{ _id: string; step: number }>('mfa_factors');
  const code = async () => {
    await rows.updateOne({ _id: user.id }, { $set: { step: 0 } });
    return codeNow(secret);
  };
  return { secret, recoveryCodes: confirmed.json().recoveryCodes, code };
}
