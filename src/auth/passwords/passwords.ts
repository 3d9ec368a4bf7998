/**
 * Passwords: the rules, hashing (argon2id) and verification, which takes the same time whether the user exists or not.
 * Only a few are hashed at once, because each takes memory and a core.
 */
import { hash, verify } from '@node-rs/argon2';
import { Semaphore } from '../../lib/concurrency/semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import { normalizeSignInName } from '../identity/user.ts';
import { COMMON_PASSWORDS } from './common-passwords.ts';
import type { PasswordStore } from './password-store.ts';

const PASSWORD_LENGTH = { min: 8, max: 256 } as const;

/**
 * OWASP's second choice of parameters for argon2id (the default variant of the library): 19 MiB, two passes, one lane.
 */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Hashes in progress, and waiting; more are rejected. */
const AT_ONCE = 4;
const WAITING = 256;

export class Passwords {
  readonly #store: PasswordStore;
  readonly #now: () => Date;
  readonly #slots = new Semaphore(AT_ONCE, WAITING);
  #dummyHash: Promise<string> = Promise.resolve('');

  constructor(store: PasswordStore, now: () => Date = () => new Date()) {
    this.#store = store;
    this.#now = now;
  }

  /** Creates the hash that is used for the passwords of unknown users, in the background. */
  start(): void {
    this.#dummyHash = hash('no user has this hash', COST);
  }

  /** @throws MillraceError `overloaded` */
  async set(user: string, password: string): Promise<void> {
    const hashed = await this.withHashingSlot(() => hash(prepared(password), COST));
    await this.#store.set(user, hashed, this.#now());
  }

  /**
   * Replaces the password that a user had when its mark was read.
   * @returns false when the password was set in the meantime
   * @throws MillraceError `overloaded`
   */
  async replace(user: string, mark: string | null, password: string): Promise<boolean> {
    const hashed = await this.withHashingSlot(() => hash(prepared(password), COST));
    return this.#store.replace(user, mark, hashed, this.#now());
  }

  /**
   * Runs a hashing task in one of a few slots, or waits for a free one.
   * @throws MillraceError `overloaded` when too many wait already, and what the task throws
   */
  withHashingSlot<T>(task: () => Promise<T>): Promise<T> {
    return this.#slots.run(task);
  }

  /**
   * Verifies the password of a user. Call it inside {@link withHashingSlot}.
   * @param user null when the user does not exist: the result is then false, after the same time
   */
  async verify(user: string | null, password: string): Promise<boolean> {
    const known = await this.#store.find(user ?? '');
    const same = await verify(known ?? (await this.#dummyHash), prepared(password));
    return same && known !== null;
  }

  /** A string that changes whenever the password is set; null for a user without a password. */
  mark(user: string | null): Promise<string | null> {
    return this.#store.find(user ?? '');
  }

  async remove(user: string): Promise<void> {
    await this.#store.remove(user);
  }
}

/**
 * Checks a new password against the rules: its length, and that it is not one of the most common ones.
 * @param names of the user
 * @throws MillraceError `weak-password`
 */
export function checkPasswordStrength(password: string, names: readonly string[]): void {
  const { length } = [...password];
  const { min, max } = PASSWORD_LENGTH;
  if (length < min || length > max) throw refused(`The password must have ${min} to ${max} characters`);
  const folded = normalizeSignInName(password);
  const own = names.flatMap((name) => [name, name.split('@', 1)[0] ?? name]);
  if (own.includes(folded)) throw refused('The password is the user name or e-mail address');
  if (COMMON_PASSWORDS.has(folded) || new Set(folded).size < 3) {
    throw refused('The password is one of the most common ones');
  }
}

/** One password typed on two keyboards may arrive in two forms of Unicode (RFC 8265 section 4.2). */
function prepared(password: string): string {
  return password.normalize('NFC');
}

function refused(message: string): MillraceError {
  return new MillraceError('weak-password', message, {
    hint: 'Three or four unrelated words are long and easy to remember',
    issues: [{ pointer: '/password', code: 'weak-password', detail: message }],
  });
}
