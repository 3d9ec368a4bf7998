/**
 * Creates and connects all parts of authentication: accounts, passwords, sessions, tokens, keys, and the authenticator
 * that uses them. What is started here is stopped here. Not here: HTTP, and what a principal may do.
 */
import { readFile } from 'node:fs/promises';
import { Activity } from '../database/activity.ts';
import type { Mongo } from '../database/mongo.ts';
import { sharedSecret } from '../database/secrets.ts';
import { SigningSecret } from '../database/signing-secret.ts';
import { ITSELF } from '../database/system-collection.ts';
import { UnusableDatabase } from '../database/unusable.ts';
import { type AuthConfig, ConfigError, type Mode } from '../kernel/config/config.ts';
import { MillraceError } from '../kernel/errors.ts';
import { parseMasterKeys, SealBroken, Sealer } from '../kernel/sealer.ts';
import type { SigningKeys } from '../kernel/signing-keys.ts';
import { Identities } from './accounts/identities.ts';
import { PasswordStore } from './accounts/password-store.ts';
import { Passwords } from './accounts/passwords.ts';
import { UserStore } from './accounts/user-store.ts';
import { Users } from './accounts/users.ts';
import { Authenticator } from './authenticator.ts';
import { LinkSignIn } from './by-letter/link-sign-in.ts';
import { LinkStore } from './by-letter/link-store.ts';
import { FactorStore } from './factors/factor-store.ts';
import { PasskeyStore } from './factors/passkey-store.ts';
import { openFactors, type SignInByFactors } from './open-factors.ts';
import { type ByProviders, type ByProvidersNeeds, openFlows } from './open-flows.ts';
import { type LetterParts, mailWay, openLetters } from './open-letters.ts';
import { KeptTokens } from './providers/kept-tokens.ts';
import { ProviderStore } from './providers/provider-store.ts';
import { RedirectStore } from './providers/redirect-store.ts';
import { AddressProof } from './sign-in/address-proof.ts';
import { DelayStore } from './sign-in/delay-store.ts';
import { FreshSignIns } from './sign-in/fresh-sign-ins.ts';
import { Owners } from './sign-in/owners.ts';
import { Recovery } from './sign-in/recovery.ts';
import { SignIn } from './sign-in/sign-in.ts';
import { SignInDelays } from './sign-in/sign-in-delays.ts';
import { SingleUse } from './sign-in/single-use.ts';
import { SingleUseStore } from './sign-in/single-use-store.ts';
import { ACCESS_MS, AccessTokens } from './tokens/access-tokens.ts';
import { ApiKeyStore } from './tokens/api-key-store.ts';
import { ApiKeys } from './tokens/api-keys.ts';
import { KeyRing } from './tokens/key-ring.ts';
import { KeyRingStore } from './tokens/key-ring-store.ts';
import { type ChangedRow, readRevoked } from './tokens/revocations.ts';
import { SessionStore } from './tokens/session-store.ts';
import { Sessions } from './tokens/sessions.ts';
import { STREAM_MS, StreamPasses } from './tokens/stream-passes.ts';

const SWEEP_MS = 3_600_000;
/** For how long page cursors and addresses of files are taken, once the secret that signed them was replaced. */
const CURSOR_MS = 24 * 3_600_000;
const ADDRESS_MS = 3_600_000;

export interface AuthParts extends SignInByFactors, LetterParts {
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly addressProof: AddressProof;
  readonly linkSignIn: LinkSignIn;
  readonly fresh: FreshSignIns;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly passwords: Passwords;
  readonly owners: Owners;
  readonly keys: ApiKeys;
  readonly keyRing: KeyRing;
  readonly activity: Activity;
  readonly providerStore: ProviderStore;
  readonly redirectStore: RedirectStore;
  readonly identities: Identities;
  /** Encrypts secrets that other parts keep. */
  readonly sealer: Sealer;
  /**
   * Describes what was made in development mode and will hold in production from the first owner on, or now holds for
   * the owner that this start made; null for nothing.
   */
  readonly leftBehind: string | null;
  /** Keys for signed texts other than tokens. */
  readonly signing: { readonly cursors: SigningKeys; readonly fileAddresses: SigningKeys };
  /** Makes what signs in by providers. */
  byProviders(needs: ByProvidersNeeds): ByProviders;
  /**
   * Makes a new key for tokens and new secrets for all other signatures; every process hears of it.
   * @returns the key's id
   */
  rotateKeys(dropOld: boolean): Promise<string>;
  /** Takes rows of the event log; null when some were lost. */
  follow(rows: readonly ChangedRow[] | null): void;
  close(): Promise<void>;
}

export interface AuthSettings {
  readonly mode: Mode;
  readonly auth: AuthConfig;
  /** How many policies count in this mode; missing where the number is not reported. */
  readonly countPolicies?: () => Promise<number>;
  readonly onError: (error: unknown) => void;
  /** Shows a letter at the terminal, in development. */
  readonly onLetter?: (text: string) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** @throws ConfigError when the owner that settings name cannot be made */
export async function openAuth(mongo: Mongo, settings: AuthSettings): Promise<AuthParts> {
  const { mode, onError, countPolicies = async () => 0, now = Date.now } = settings;
  const clock = { now };
  const sealer = await openSealer(settings.auth.masterKey);
  const [users, sessionStore, keyStore] = [new UserStore(mongo), new SessionStore(mongo), new ApiKeyStore(mongo)];
  const [delays, singleUseStore, linkStore] = [new DelayStore(mongo), new SingleUseStore(mongo), new LinkStore(mongo)];
  const activity = new Activity(mongo, now);
  const { issuer } = settings.auth;
  const terms = { issuer, audience: `millrace:${mongo.data.databaseName}`, lifetimeMs: ACCESS_MS };
  const keyRing = new KeyRing({ store: new KeyRingStore(mongo, sealer), terms, now });
  const cursors = new SigningSecret({ mongo, name: 'cursors', lifetimeMs: CURSOR_MS, sealer, now });
  const fileAddresses = new SigningSecret({ mongo, name: 'file-addresses', lifetimeMs: ADDRESS_MS, sealer, now });
  const streams = new SigningSecret({ mongo, name: 'streams', lifetimeMs: STREAM_MS, sealer, now });
  const secrets = [cursors, fileAddresses, streams];
  const passwords = new Passwords(new PasswordStore(mongo), () => new Date(now()));
  const [providerStore, redirectStore] = [new ProviderStore(mongo, sealer), new RedirectStore(mongo)];
  const tokens = new KeptTokens(mongo, sealer);
  const [factorStore, passkeyStore] = [new FactorStore(mongo, sealer), new PasskeyStore(mongo)];
  const ownStores = [users, sessionStore, keyStore, activity, providerStore];
  const signInStores = [delays, singleUseStore, linkStore, tokens, factorStore, passkeyStore];
  const stores = [...ownStores, ...signInStores, keyRing, ...secrets, passwords];
  await Promise.all(stores.map((store) => store.start())).catch(explainSeal);

  const singleUse = new SingleUse(singleUseStore, now);
  const changed = (id: string) => authenticator.revoke({ ids: new Set([id]), everything: false });
  const keys = new ApiKeys({ store: keyStore, onEnded: (id) => changed(`key:${id}`), onError, ...clock });
  const authenticator = new Authenticator({
    tokens: new AccessTokens(keyRing),
    sessions: sessionStore,
    users,
    keys,
    singleUse,
    passes: new StreamPasses(streams, now),
    ownerFactor: settings.auth.ownerFactor,
    ...clock,
  });
  const sessions = new Sessions({
    store: sessionStore,
    keyRing,
    activity,
    key: await sharedSecret(mongo, 'refresh-tokens', sealer),
    onEnded: (id) => changed(`session:${id}`),
    ...clock,
  });
  const accounts = new Users({
    store: users,
    passwords,
    sessions,
    tokens,
    factors: [factorStore, passkeyStore],
    pending: singleUse,
    onChanged: (id) => changed(`user:${id}`),
    ...clock,
  });
  const { base, registration } = settings.auth;
  const signInDelays = new SignInDelays(delays, (account, network) => sessions.openedFrom(account, network));
  const letters = await openLetters(settings, { mongo, singleUse, findUser: (id) => users.find(id), ...clock });
  const { outbox } = letters;
  const recovery = new Recovery({ users: accounts, passwords, singleUse, activity, outbox, base });
  const common = { users: accounts, passwords, sessions, delays: signInDelays, singleUse, activity, base };
  const byFactors = openFactors({ ...common, factorStore, passkeyStore, ...clock }, (secondStep) => {
    return new SignIn({ ...common, secondStep, recovery, registration });
  });
  const { signIn, secondStep, factors, factorSignIn, passkeys, passkeySignIn } = byFactors;
  const linkSignIn = new LinkSignIn({
    ...common,
    store: linkStore,
    outbox,
    secondStep,
    signIn,
    codeKey: await sharedSecret(mongo, 'letter-codes', sealer),
    isOn: settings.auth.signInLink && mailWay(settings) !== 'none',
    ...clock,
  });
  const left = { countPolicies, countProviders: () => providerStore.count() };
  const owners = new Owners({ mode, users: accounts, store: users, keys, ...left, signIn, singleUse, activity });
  const identities = new Identities({ store: users, passwords, activity, tokens, sessions, ...clock });
  const flowParts = { mongo, identities, secondStep, singleUse, delays: signInDelays, activity, tokens, ...clock };
  let byProviders: ByProviders | undefined;
  const leftBehind = await owners.leftBehind();
  await ensureOwner(owners, settings);

  keys.start();
  outbox.start();
  const sweep = () => Promise.all([sessions.sweep(ITSELF), activity.sweep()]).catch(onError);
  const sweeping = setInterval(sweep, SWEEP_MS).unref();
  return {
    ...letters,
    authenticator,
    signIn,
    recovery,
    addressProof: new AddressProof({ ...common, recovery, signIn }),
    linkSignIn,
    factors,
    factorSignIn,
    passkeys,
    passkeySignIn,
    fresh: new FreshSignIns(sessions, now),
    sessions,
    users: accounts,
    passwords,
    owners,
    keys,
    keyRing,
    activity,
    providerStore,
    redirectStore,
    identities,
    sealer,
    byProviders: (needs) => {
      byProviders = openFlows({ ...flowParts, users: accounts, sessions, signIn, registration, onError }, needs);
      return byProviders;
    },
    leftBehind,
    signing: { cursors, fileAddresses },
    rotateKeys: async (dropOld) => {
      const kid = await keyRing.rotate(dropOld);
      await Promise.all(secrets.map((secret) => secret.rotate(dropOld)));
      authenticator.revoke({ ids: new Set(), everything: true });
      await activity.record('system.key-ring.rotated', { key: kid, dropped: dropOld ? 'yes' : 'no' }, ITSELF);
      return kid;
    },
    follow: (rows) => {
      // The dropped database took the indexes along that keep names unique; the first account would be stored without
      // them.
      if (rows?.some(({ operation }) => operation === 'dropDatabase')) {
        Promise.all(ownStores.map((store) => store.start())).catch(onError);
      }
      const revoked = rows === null ? { ids: new Set<string>(), everything: true, keyRing: true } : readRevoked(rows);
      if (revoked === null) return;
      authenticator.revoke(revoked);
      // Again when the new key ring is loaded: a token of a removed key may have been verified meanwhile.
      if (revoked.keyRing) {
        keyRing.reload().then(() => authenticator.revoke(revoked), onError);
        for (const secret of secrets) secret.reload().catch(onError);
      }
    },
    close: async () => {
      clearInterval(sweeping);
      await byProviders?.claimRenewals.settled();
      await outbox.close();
      await keys.stop();
    },
  };
}

async function openSealer(masterKey: string | null): Promise<Sealer> {
  if (masterKey === null) return new Sealer([]);
  const [, path] = /^file:(.*)$/.exec(masterKey) ?? [];
  const text = path === undefined ? masterKey : await readSecret('MILLRACE_MASTER_KEY', path);
  const keys = parseMasterKeys(text);
  if (keys === null) throw new ConfigError([`MILLRACE_MASTER_KEY=file:${path}: a key must be 32 bytes as base64`]);
  return new Sealer(keys);
}

function explainSeal(error: unknown): never {
  if (!(error instanceof SealBroken)) throw error;
  throw new UnusableDatabase(
    `The secrets in the database cannot be read: ${error.message}. Set MILLRACE_MASTER_KEY to the value that it had.`,
  );
}

/** Reads a secret from a file, without the line break at its end. */
async function readSecret(setting: string, path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ConfigError([`${setting}: ${error instanceof Error ? error.message : String(error)}`]);
  });
  return text.replace(/\r?\n$/, '');
}

/**
 * If a user has the owner's address, a start without any owner fails; if there is another owner, an error is logged.
 */
async function ensureOwner(owners: Owners, { auth, onError }: AuthSettings): Promise<void> {
  const wanted = auth.owner;
  if (wanted === null) return;
  const password = await readSecret('MILLRACE_OWNER_PASSWORD_FILE', wanted.passwordFile);
  try {
    await owners.ensure(wanted.email, password);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'unique-violation') {
      const taken = `MILLRACE_OWNER_EMAIL=${wanted.email}: the account with this address belongs to a user; no owner was made`;
      if (!(await owners.exists()))
        throw new ConfigError([`${taken}; name another address, or make an owner by millrace owner`]);
      onError(new Error(taken));
      return;
    }
    if (!(error instanceof MillraceError) || error.code !== 'password-refused') throw error;
    throw new ConfigError([`MILLRACE_OWNER_PASSWORD_FILE=${wanted.passwordFile}: ${error.message}`]);
  }
}
