/**
 * Throttles failed sign-ins with providers like those with passwords: from the fifth failure on, a network has to wait.
 * Each failure is an event, with the reason for administrators.
 */
import { clientNetwork } from '../../config/addresses.ts';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { type ErrorCode, MillraceError } from '../../lib/errors.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import { type LoginThrottle, networkThrottleKey, type SignInAttempt } from '../sign-in/login-throttle.ts';

/** Errors that the client neither caused nor is throttled for. */
const HARMLESS: ReadonlySet<ErrorCode> = new Set([
  'mfa-required',
  'provider-denied',
  'provider-unavailable',
  'database-unavailable',
]);
const MAX_REASON = 300;

export class ProviderSignInThrottle {
  readonly #delays: LoginThrottle;
  readonly #activity: AuditEvents;

  constructor(delays: LoginThrottle, activity: AuditEvents) {
    this.#delays = delays;
    this.#activity = activity;
  }

  /**
   * Runs one attempt.
   * @param provider its name; null where it is unknown
   * @throws MillraceError `rate-limited` while the network has to wait, and what the attempt throws
   */
  async run<T>(origin: SessionOrigin, provider: string | null, attempt: () => Promise<T>): Promise<T> {
    const { ip } = origin;
    const counted: SignInAttempt = { throttleKey: networkThrottleKey(clientNetwork(ip)), user: null, ip };
    await this.#delays.checkAllowed(counted);
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof MillraceError) || HARMLESS.has(error.code)) throw error;
      await this.#delays.failed(counted);
      const reason = error.cause instanceof Error ? error.cause.message : error.code;
      const details = { user: null, ip, provider, reason: reason.slice(0, MAX_REASON) };
      await this.#activity.record('system.auth.failed', details, changeStampFromOrigin(origin));
      throw error;
    }
  }
}
