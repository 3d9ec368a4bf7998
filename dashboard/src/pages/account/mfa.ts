/** The second factor of the user, as the server returns it. */
import { request } from '../../api/client.ts';

export interface Factor {
  /** Null when none is enrolled. */
  readonly since: string | null;
  /** Number of unused recovery codes. */
  readonly recoveryCodes: number;
}

/** A secret that waits for its first code. */
export interface FactorEnrollment {
  readonly secret: string;
  /** SVG. */
  readonly qr: string;
}

interface Shown {
  readonly recoveryCodes: readonly string[];
}

/**
 * Confirms the app.
 * @returns its recovery codes
 */
export async function confirmFactor(code: string): Promise<readonly string[]> {
  try {
    return (await request<Shown>('POST', '/auth/mfa/totp/confirm', { body: { code } })).body.recoveryCodes;
  } catch (error) {
    // The app may be enrolled and only the response lost, now or at an earlier attempt. Then the codes were never
    // shown.
    const { body } = await request<Factor>('GET', '/auth/mfa');
    if (body.since === null) throw error;
    return await newRecoveryCodes();
  }
}

export async function newRecoveryCodes(): Promise<readonly string[]> {
  return (await request<Shown>('POST', '/auth/mfa/recovery-codes')).body.recoveryCodes;
}
