import { readFile } from 'node:fs/promises';
import { type AuthConfig, ConfigError, type ServerMode } from '../config/config.ts';
import { AuditEvents } from '../database/audit-events.ts';
import type { Mongo } from '../database/mongo.ts';
import { loadSharedSecret } from '../database/shared-secret.ts';
import { SigningSecret } from '../database/signing-secret.ts';
import { UnusableDatabase } from '../database/startup-error.ts';
import { SYSTEM_STAMP } from '../database/system-collection.ts';
import { type EmailServices, mailWay, openEmails } from '../email/open-emails.ts';
import { DecryptionError, Encryption, parseMasterKeys } from '../lib/encryption.ts';
import { MillraceError } from '../lib/errors.ts';
import type { SigningKeys } from '../lib/signing-keys.ts';
import { Authenticator } from './authenticator.ts';
import { MagicLinkSignIn } from './magic-link/magic-link.ts';
import { MagicLinkStore } from './magic-link/magic-link-store.ts';
import { FactorStore } from './mfa/factor-store.ts';
import { openFactors, type SignInByFactors } from './open-factors.ts';
import { type ByProviders, type ByProvidersDeps, openFlows } from './open-flows.ts';
import { PasskeyStore } from './passkeys/passkey-store.ts';
import { PasswordStore } from './passwords/password-store.ts';
import { Passwords } from './passwords/passwords.ts';
import { ProviderStore } from './providers/provider-store.ts';
import { ProviderTokenVault } from './providers/provider-tokens.ts';
import { RedirectStore } from './providers/redirect-store.ts';
import { findRevocations, type RevocationLogRow } from './sessions/revocations.ts';
import { SessionStore } from './sessions/session-store.ts';
import { Sessions } from './sessions/sessions.ts';
import { Recovery } from './sign-in/account-recovery.ts';
import { EmailConfirmation } from './sign-in/email-confirmation.ts';
import { FirstAdmin } from './sign-in/first-admin.ts';
import { LoginThrottle } from './sign-in/login-throttle.ts';
import { LoginThrottleStore } from './sign-in/login-throttle-store.ts';
import { Reauthentication } from './sign-in/reauthentication.ts';
import { SignIn } from './sign-in/sign-in.ts';
import { ACCESS_TOKEN_LIFETIME_MS, AccessTokens } from './tokens/access-tokens.ts';
import { ApiKeyStore } from './tokens/api-key-store.ts';
import { ApiKeys } from './tokens/api-keys.ts';
import { OneTimeTokenStore } from './tokens/one-time-token-store.ts';
import { OneTimeTokens } from './tokens/one-time-tokens.ts';
import { SigningKeyStore } from './tokens/signing-key-store.ts';
import { SigningKeySet } from './tokens/signing-keys.ts';
import { STREAM_LIFETIME_MS, StreamReconnectTokens } from './tokens/stream-reconnect-tokens.ts';
import { Identities } from './users/identities.ts';
import { UserStore } from './users/user-store.ts';
import { Users } from './users/users.ts';

const CLEANUP_MS = 3_600_000;
/** How long page cursors and signed URLs of files remain valid after their secret was replaced. */
const [CURSOR_MS, ADDRESS_MS] = [24 * 3_600_000, 3_600_000];

export interface AuthServices extends SignInByFactors, EmailServices {
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  readonly recovery: Recovery;
  readonly emailProof: EmailConfirmation;
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly reauthentication: Reauthentication;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly passwords: Passwords;
  readonly firstAdmin: FirstAdmin;
  readonly keys: ApiKeys;
  readonly signingKeys: SigningKeySet;
  readonly activity: AuditEvents;
  readonly providerStore: ProviderStore;
  readonly redirectStore: RedirectStore;
  readonly identities: Identities;
  /** Encrypts secrets of other parts. */
  readonly encryption: Encryption;
  /** What of development mode remains valid in production once there is an administrator; null for nothing. */
  readonly leftBehind: string | null;
  /** Keys for signed texts other than tokens. */
  readonly signing: { readonly cursors: SigningKeys; readonly fileUrls: SigningKeys };
  /** Creates the sign-in with providers. */
  byProviders(deps: ByProvidersDeps): ByProviders;
  /**
   * Creates a new key for tokens and new secrets for all other signatures; every process receives them.
   * @returns the key's id
   */
  rotateKeys(dropOld: boolean): Promise<string>;
  /** @param rows of the event log; null when some were lost */
  applyLogRows(rows: readonly RevocationLogRow[] | null): void;
  close(): Promise<void>;
}

export interface AuthSettings {
  readonly mode: ServerMode;
  readonly auth: AuthConfig;
  /** How many policies apply in this mode; missing where the number is not reported. */
  readonly countPolicies?: () => Promise<number>;
  readonly onError: (error: unknown) => void;
  /** Shows an e-mail in the terminal, in development. */
  readonly onEmail?: (text: string) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** @throws ConfigError when the administrator of the settings cannot be created */
export async function openAuth(mongo: Mongo, settings: AuthSettings): Promise<AuthServices> {
  const { mode, onError, countPolicies = async () => 0, now = Date.now } = settings;
  const clock = { now };
  const encryption = await openEncryption(settings.auth.masterKey);
  const [users, sessionStore, keyStore] = [new UserStore(mongo), new SessionStore(mongo), new ApiKeyStore(mongo)];
  const [delays, oneTimeTokenStore, linkStore] = [
    new LoginThrottleStore(mongo),
    new OneTimeTokenStore(mongo),
    new MagicLinkStore(mongo),
  ];
  const activity = new AuditEvents(mongo, now);
  const { issuer } = settings.auth;
  const terms = { issuer, audience: `millrace:${mongo.data.databaseName}`, lifetimeMs: ACCESS_TOKEN_LIFETIME_MS };
  const signingKeys = new SigningKeySet({ store: new SigningKeyStore(mongo, encryption), tokenOptions: terms, now });
  const cursors = new SigningSecret({ mongo, name: 'cursors', lifetimeMs: CURSOR_MS, encryption, now });
  const fileUrls = new SigningSecret({ mongo, name: 'file-addresses', lifetimeMs: ADDRESS_MS, encryption, now });
  const streams = new SigningSecret({ mongo, name: 'streams', lifetimeMs: STREAM_LIFETIME_MS, encryption, now });
  const secrets = [cursors, fileUrls, streams];
  const passwords = new Passwords(new PasswordStore(mongo), () => new Date(now()));
  const [providerStore, redirectStore] = [new ProviderStore(mongo, encryption), new RedirectStore(mongo)];
  const tokens = new ProviderTokenVault(mongo, encryption);
  const [factorStore, passkeyStore] = [new FactorStore(mongo, encryption), new PasskeyStore(mongo)];
  const ownStores = [users, sessionStore, keyStore, activity, providerStore];
  const signInStores = [delays, oneTimeTokenStore, linkStore, tokens, factorStore, passkeyStore];
  const stores = [...ownStores, ...signInStores, signingKeys, ...secrets, passwords];
  await Promise.all(stores.map((store) => store.start())).catch(explainDecryptionError);

  const oneTimeTokens = new OneTimeTokens(oneTimeTokenStore, now);
  const changed = (id: string) => authenticator.revoke({ ids: new Set([id]), everything: false });
  const keys = new ApiKeys({ store: keyStore, onEnded: (id) => changed(`key:${id}`), onError, ...clock });
  const authenticator = new Authenticator({
    tokens: new AccessTokens(signingKeys),
    sessions: sessionStore,
    users,
    keys,
    oneTimeTokens,
    passes: new StreamReconnectTokens(streams, now),
    adminMfa: settings.auth.adminMfa,
    ...clock,
  });
  const sessions = new Sessions({
    store: sessionStore,
    signingKeys,
    activity,
    key: await loadSharedSecret(mongo, 'refresh-tokens', encryption),
    onEnded: (id) => changed(`session:${id}`),
    ...clock,
  });
  const accounts = new Users({
    store: users,
    passwords,
    sessions,
    tokens,
    factors: [factorStore, passkeyStore],
    pending: oneTimeTokens,
    onChanged: (id) => changed(`user:${id}`),
    ...clock,
  });
  const { base, registration } = settings.auth;
  const signInDelays = new LoginThrottle(delays, (user, network) => sessions.openedFrom(user, network));
  const emails = await openEmails(settings, { mongo, oneTimeTokens, findUser: (id) => users.find(id), ...clock });
  const { outbox } = emails;
  const recovery = new Recovery({ users: accounts, passwords, oneTimeTokens, activity, outbox, base });
  const common = { users: accounts, passwords, sessions, delays: signInDelays, oneTimeTokens, activity, base };
  const byFactors = openFactors({ ...common, factorStore, passkeyStore, ...clock }, (mfaGate) => {
    return new SignIn({ ...common, mfaGate, recovery, registration });
  });
  const { signIn, mfaGate, factors, factorSignIn, passkeys, passkeySignIn } = byFactors;
  const magicLinkSignIn = new MagicLinkSignIn({
    ...common,
    store: linkStore,
    outbox,
    mfaGate,
    signIn,
    codeKey: await loadSharedSecret(mongo, 'letter-codes', encryption),
    isOn: settings.auth.magicLink && mailWay(settings) !== 'none',
    ...clock,
  });
  const left = { countPolicies, countProviders: () => providerStore.count() };
  const firstAdmin = new FirstAdmin({
    mode,
    users: accounts,
    store: users,
    keys,
    ...left,
    signIn,
    oneTimeTokens,
    activity,
  });
  const identities = new Identities({ store: users, passwords, activity, tokens, sessions, ...clock });
  const flowParts = { mongo, identities, mfaGate, oneTimeTokens, delays: signInDelays, activity, tokens, ...clock };
  let byProviders: ByProviders | undefined;
  const leftBehind = await firstAdmin.describeDevelopmentLeftovers();
  await ensureAdmin(firstAdmin, settings);

  keys.start();
  outbox.start();
  const orphanCleanup = () => Promise.all([sessions.endExpired(SYSTEM_STAMP), activity.deleteExpired()]).catch(onError);
  const sweeping = setInterval(orphanCleanup, CLEANUP_MS).unref();
  return {
    ...emails,
    authenticator,
    signIn,
    recovery,
    emailProof: new EmailConfirmation({ ...common, recovery, signIn }),
    magicLinkSignIn,
    factors,
    factorSignIn,
    passkeys,
    passkeySignIn,
    reauthentication: new Reauthentication(sessions, now),
    sessions,
    users: accounts,
    passwords,
    firstAdmin,
    keys,
    signingKeys,
    activity,
    providerStore,
    redirectStore,
    identities,
    encryption,
    byProviders: (deps) => {
      byProviders = openFlows({ ...flowParts, users: accounts, sessions, signIn, registration, onError }, deps);
      return byProviders;
    },
    leftBehind,
    signing: { cursors, fileUrls },
    rotateKeys: async (dropOld) => {
      const kid = await signingKeys.rotate(dropOld);
      await Promise.all(secrets.map((secret) => secret.rotate(dropOld)));
      authenticator.revoke({ ids: new Set(), everything: true });
      await activity.record('system.signing-keys.rotated', { key: kid, revoked: dropOld ? 'yes' : 'no' }, SYSTEM_STAMP);
      return kid;
    },
    applyLogRows: (rows) => {
      // dropDatabase removed the unique indexes of names; without them the first user would be stored unprotected.
      if (rows?.some(({ operation }) => operation === 'dropDatabase')) {
        Promise.all(ownStores.map((store) => store.start())).catch(onError);
      }
      const revoked =
        rows === null ? { ids: new Set<string>(), everything: true, signingKeys: true } : findRevocations(rows);
      if (revoked === null) return;
      authenticator.revoke(revoked);
      // Again when the new key ring is loaded: a token of a removed key may have been verified in the meantime.
      if (revoked.signingKeys) {
        signingKeys.reload().then(() => authenticator.revoke(revoked), onError);
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

async function openEncryption(masterKey: string | null): Promise<Encryption> {
  if (masterKey === null) return new Encryption([]);
  const [, path] = /^file:(.*)$/.exec(masterKey) ?? [];
  const text = path === undefined ? masterKey : await readSecret('MILLRACE_MASTER_KEY', path);
  const keys = parseMasterKeys(text);
  if (keys === null) throw new ConfigError([`MILLRACE_MASTER_KEY=file:${path}: a key must be 32 bytes as base64`]);
  return new Encryption(keys);
}

function explainDecryptionError(error: unknown): never {
  if (!(error instanceof DecryptionError)) throw error;
  throw new UnusableDatabase(
    `The secrets in the database cannot be read: ${error.message}. Set MILLRACE_MASTER_KEY to its previous value.`,
  );
}

/** Reads a secret from a file, without the line break at its end. */
async function readSecret(setting: string, path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ConfigError([`${setting}: ${error instanceof Error ? error.message : String(error)}`]);
  });
  return text.replace(/\r?\n$/, '');
}

/** If a user has the e-mail address, a start without any administrator fails; if there is one, an error is logged. */
async function ensureAdmin(firstAdmin: FirstAdmin, { auth, onError }: AuthSettings): Promise<void> {
  const requested = auth.owner;
  if (requested === null) return;
  const password = await readSecret('MILLRACE_ADMIN_PASSWORD_FILE', requested.passwordFile);
  try {
    await firstAdmin.ensure(requested.email, password);
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'email-taken') {
      const taken = `MILLRACE_ADMIN_EMAIL=${requested.email}: this e-mail address belongs to a user who is not an administrator; no administrator was created`;
      if (!(await firstAdmin.exists()))
        throw new ConfigError([`${taken}; use another e-mail address, or create an administrator with millrace admin`]);
      onError(new Error(taken));
      return;
    }
    if (!(error instanceof MillraceError) || error.code !== 'weak-password') throw error;
    throw new ConfigError([`MILLRACE_ADMIN_PASSWORD_FILE=${requested.passwordFile}: ${error.message}`]);
  }
}
