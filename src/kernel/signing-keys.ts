/**
 * Keys with which an installation signs texts that it gives to clients, and recognises them later (HMAC). Not here:
 * where they are kept (database/signing-secret.ts).
 */
import type { KeyObject } from 'node:crypto';

export interface SigningKeys {
  /** The key that signs. */
  readonly signing: KeyObject;
  /**
   * All keys that verify, the newest first. A replaced key still verifies while something that it signed may be valid.
   */
  readonly verifying: readonly KeyObject[];
}
