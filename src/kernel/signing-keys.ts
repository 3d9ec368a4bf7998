/** Keys by which an installation knows again what it signed itself (HMAC). Not here: where they are kept (database/signing-secret.ts). */
import type { KeyObject } from 'node:crypto';

export interface SigningKeys {
  /** Signs from now on. */
  readonly signing: KeyObject;
  /** All that verify, the newest first: one that was replaced does so while something that it signed may still be valid. */
  readonly verifying: readonly KeyObject[];
}
