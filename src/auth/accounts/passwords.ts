/**
 * Passwords: which are accepted, how they are hashed (argon2id), and whether one is right. Verifying takes the same
 * time whether the account exists or not. Only a few are hashed at once, because each takes memory and a core. Not
 * here: the delays after wrong ones (sign-in-delays.ts).
 */
import { hash, verify } from '@node-rs/argon2';
import { Semaphore } from '../../kernel/concurrency/semaphore.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { foldName } from '../identity/user.ts';
import { COMMON_PASSWORDS } from './common-passwords.ts';
import type { PasswordStore } from './password-store.ts';

const PASSWORD_LENGTH = { min: 8, max: 256 } as const;

/** OWASP's second choice of parameters for argon2id (the library's kind by default): 19 MiB, two passes, one lane. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

/** Hashes under way, and waiting; more are refused. */
const AT_ONCE = 4;
const WAITING = 256;

export class Passwords {
  readonly #store: PasswordStore;
  readonly #now: () => Date;
  readonly #slots = new Semaphore(AT_ONCE, WAITING);
  #nobody: Promise<string> = Promise.resolve('');

  constructor(store: PasswordStore, now: () => Date = () => new Date()) {
    this.#store = store;
    this.#now = now;
  }

  /** Makes the hash that is used for the passwords of unknown accounts; nothing waits for it. */
  start(): void {
    this.#nobody = hash('no account has this hash', COST);
  }

  /** @throws MillraceError `overloaded` */
  async set(user: string, password: string): Promise<void> {
    const hashed = await this.inTurn(() => hash(prepared(password), COST));
    await this.#store.set(user, hashed, this.#now());
  }

  /**
   * Replaces the password that an account had when its mark was read.
   * @returns false when the password was set meanwhile
   * @throws MillraceError `overloaded`
   */
  async replace(user: string, mark: string | null, password: string): Promise<boolean> {
    const hashed = await this.inTurn(() => hash(prepared(password), COST));
    return this.#store.replace(user, mark, hashed, this.#now());
  }

  /**
   * Runs a task that hashes in one of the few slots there are for that; when all are taken it waits for one.
   * @throws MillraceError `overloaded` when too many wait already, and what the task throws
   */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#slots.run(task);
  }

  /**
   * Whether a password is the one of an account. Call it inside {@link inTurn}.
   * @param user null when there is no account: then the answer is no, after the same time
   */
  async verify(user: string | null, password: string): Promise<boolean> {
    const known = await this.#store.find(user ?? '');
    const same = await verify(known ?? (await this.#nobody), prepared(password));
    return same && known !== null;
  }

  /** A text that changes whenever the password is set; null for an account without a password. */
  mark(user: string | null): Promise<string | null> {
    return this.#store.find(user ?? '');
  }

  async remove(user: string): Promise<void> {
    await this.#store.remove(user);
  }
}

/**
 * Checks a new password against the rules: its length, and that it is not one of the most common ones.
 * @param names of the account
 * @throws MillraceError `password-refused`
 */
export function checkPassword(password: string, names: readonly string[]): void {
  const { length } = [...password];
  const { min, max } = PASSWORD_LENGTH;
  if (length < min || length > max) throw refused(`The password must have ${min} to ${max} characters`);
  const folded = foldName(password);
  const own = names.flatMap((name) => [name, name.split('@', 1)[0] ?? name]);
  if (own.includes(folded)) throw refused('The password is the name of the account');
  if (COMMON_PASSWORDS.has(folded) || new Set(folded).size < 3) {
    throw refused('The password is one that attackers try first');
  }
}

/** One password typed on two keyboards may arrive in two forms of Unicode (RFC 8265 section 4.2). */
function prepared(password: string): string {
  return password.normalize('NFC');
}

function refused(message: string): MillraceError {
  return new MillraceError('password-refused', message, {
    hint: 'Three or four unrelated words are long and easy to remember',
    faults: [{ pointer: '/password', code: 'password-refused', detail: message }],
  });
}
