/** The second factor of the person's own account, as the server gives it. */
import { request } from '../../api/client.ts';

export interface Factor {
  /** Null when none is in force. */
  readonly since: string | null;
  /** How many recovery codes are left. */
  readonly recoveryCodes: number;
}

/** A secret that waits for its first code. */
export interface BegunFactor {
  readonly secret: string;
  /** SVG. */
  readonly qr: string;
}

interface Shown {
  readonly recoveryCodes: readonly string[];
}

/**
 * Puts the app in force.
 * @returns its recovery codes
 */
export async function confirmFactor(code: string): Promise<readonly string[]> {
  try {
    return (await request<Shown>('POST', '/auth/mfa/totp/confirm', { body: { code } })).body.recoveryCodes;
  } catch (error) {
    // The app may be in force and only the answer lost, now or at a try before. Then nobody has seen the codes.
    const { body } = await request<Factor>('GET', '/auth/mfa');
    if (body.since === null) throw error;
    return await newRecoveryCodes();
  }
}

export async function newRecoveryCodes(): Promise<readonly string[]> {
  return (await request<Shown>('POST', '/auth/mfa/recovery-codes')).body.recoveryCodes;
}
