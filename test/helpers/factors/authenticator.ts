/** Second factors for tests: set up over HTTP, with the codes of an authenticator that shares no code with the server. */
import type { FastifyInstance } from 'fastify';
import { generateSync } from 'otplib';
import type { Parts } from '../../../src/parts.ts';
import { type Account, ask } from '../accounts.ts';

export interface Authenticator {
  /** The seed, base32. */
  readonly secret: string;
  readonly recoveryCodes: readonly string[];
  /** The code of the present step, which the server takes again: it forgets the steps that it took. */
  readonly code: () => Promise<string>;
}

/** The code that an app shows now, or so many seconds later. */
export function codeNow(secret: string, later = 0): string {
  return generateSync({ secret, epoch: Math.floor(Date.now() / 1_000) + later });
}

/** A code that is none of the present step and the ones next to it. */
export function wrongCode(secret: string): string {
  const near = new Set([-90, -60, -30, 0, 30, 60, 90].map((later) => codeNow(secret, later)));
  return ['000000', '111111', '222222', '333333', '444444', '555555', '666666', '777777'].find(
    (code) => !near.has(code),
  ) as string;
}

/** Gives an account a second factor. */
export async function setUpFactor(
  app: FastifyInstance,
  { mongo }: Pick<Parts, 'mongo'>,
  account: Account,
): Promise<Authenticator> {
  const { secret } = (await ask(app, 'POST /auth/mfa/totp', undefined, account)).json();
  const confirmed = await ask(app, 'POST /auth/mfa/totp/confirm', { code: codeNow(secret) }, account);
  if (confirmed.statusCode !== 200) throw new Error(confirmed.body);
  const rows = mongo.log.collection<{ _id: string; step: number }>('factors');
  const code = async () => {
    await rows.updateOne({ _id: account.id }, { $set: { step: 0 } });
    return codeNow(secret);
  };
  return { secret, recoveryCodes: confirmed.json().recoveryCodes, code };
}
