/** Keys with which an instance signs texts for clients and verifies them later (HMAC). */
import type { KeyObject } from 'node:crypto';

export interface SigningKeys {
  /** The key that signs. */
  readonly signing: KeyObject;
  /** All keys that verify, newest first. A replaced key still verifies while something that it signed may be valid. */
  readonly verifying: readonly KeyObject[];
}
