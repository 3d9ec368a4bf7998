/** Creates the services of users, sessions, keys and sign-in with passwords, e-mails, second factors and passkeys. */
import type { AuthConfig, ServerMode } from '../config/config.ts';
import { AuditEvents } from '../database/audit-only-events.ts';
import type { Mongo } from '../database/mongo.ts';
import { loadSharedSecret } from '../database/shared-secret.ts';
import { SigningSecret } from '../database/signing-secret.ts';
import { SYSTEM_CHANGE_STAMP } from '../database/system-collection.ts';
import { createEmailServices, type EmailServices, mailWay } from '../email/services.ts';
import type { Encryption } from '../lib/encryption.ts';
import type { SigningKeys } from '../lib/hmac-signing-keys.ts';
import { Authenticator } from './authenticator.ts';
import { MagicLinkSignIn } from './magic-link/magic-link.ts';
import { MagicLinkStore } from './magic-link/magic-link-store.ts';
import { MfaChallenges } from './mfa/challenge.ts';
import { FactorSignIn } from './mfa/factor-sign-in.ts';
import { FactorStore } from './mfa/factor-store.ts';
import { Factors } from './mfa/totp-factor.ts';
import { PasskeySignIn } from './passkeys/passkey-sign-in.ts';
import { PasskeyStore } from './passkeys/passkey-store.ts';
import { Passkeys } from './passkeys/passkeys.ts';
import { PasswordStore } from './passwords/password-store.ts';
import { Passwords } from './passwords/passwords.ts';
import { ProviderStore } from './providers/provider-store.ts';
import { ProviderTokenVault } from './providers/provider-tokens.ts';
import { findRevocations, type LogRowForRevocations } from './sessions/find-revocations.ts';
import { SessionStore } from './sessions/session-store.ts';
import { Sessions } from './sessions/sessions.ts';
import { Recovery } from './sign-in/account-recovery.ts';
import { EmailConfirmation } from './sign-in/email-confirmation.ts';
import { FirstAdmin } from './sign-in/first-admin.ts';
import { LoginThrottle } from './sign-in/login-throttle.ts';
import { LoginThrottleStore } from './sign-in/login-throttle-store.ts';
import type { MfaGate } from './sign-in/mfa-gate.ts';
import { Reauthentication } from './sign-in/reauthentication.ts';
import { SignIn } from './sign-in/sign-in.ts';
import { createConfiguredAdmin, explainDecryptionError, loadEncryption } from './startup.ts';
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

export interface AuthServices {
  readonly authenticator: Authenticator;
  readonly signIn: SignIn;
  readonly mfaGate: MfaGate;
  readonly recovery: Recovery;
  readonly emailProof: EmailConfirmation;
  readonly magicLinkSignIn: MagicLinkSignIn;
  readonly factors: Factors;
  readonly factorSignIn: FactorSignIn;
  readonly passkeys: Passkeys;
  readonly passkeySignIn: PasskeySignIn;
  readonly reauthentication: Reauthentication;
  readonly delays: LoginThrottle;
  readonly sessions: Sessions;
  readonly users: Users;
  readonly identities: Identities;
  readonly passwords: Passwords;
  readonly firstAdmin: FirstAdmin;
  readonly keys: ApiKeys;
  readonly oneTimeTokens: OneTimeTokens;
  readonly signingKeys: SigningKeySet;
  readonly activity: AuditEvents;
  readonly email: EmailServices;
  readonly providerStore: ProviderStore;
  readonly providerTokens: ProviderTokenVault;
  /** Encrypts secrets of other parts. */
  readonly encryption: Encryption;
  /** What of development mode remains valid in production once there is an administrator; null for nothing. */
  readonly leftBehind: string | null;
  /** Keys for signed texts other than tokens. */
  readonly signing: { readonly cursors: SigningKeys; readonly fileUrls: SigningKeys };
  /**
   * Creates a new key for tokens and new secrets for all other signatures; every process receives them.
   * @returns the key's id
   */
  rotateKeys(dropOld: boolean): Promise<string>;
  /** @param rows of the event log; null when some were lost */
  applyLogRows(rows: readonly LogRowForRevocations[] | null): void;
}

export interface AuthServicesDeps {
  readonly mongo: Mongo;
  readonly mode: ServerMode;
  readonly config: AuthConfig;
  /** How many policies apply in this mode; missing where the number is not reported. */
  readonly countPolicies?: () => Promise<number>;
  readonly onError: (error: unknown) => void;
  /** Shows an e-mail in the terminal, in development. */
  readonly onEmail?: (text: string) => void;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

/** @throws ConfigError when the administrator of the settings cannot be created */
export async function createAuthServices(deps: AuthServicesDeps): Promise<AuthServices> {
  const { mongo, mode, config, onError, onEmail, countPolicies = async () => 0, now = Date.now, cleanup } = deps;
  const { issuer, base, registration } = config;
  const encryption = await loadEncryption(config.masterKey);
  const userStore = new UserStore(mongo);
  const sessionStore = new SessionStore(mongo);
  const keyStore = new ApiKeyStore(mongo);
  const delayStore = new LoginThrottleStore(mongo);
  const oneTimeTokenStore = new OneTimeTokenStore(mongo);
  const linkStore = new MagicLinkStore(mongo);
  const activity = new AuditEvents(mongo, now);
  const signingKeys = new SigningKeySet({
    store: new SigningKeyStore(mongo, encryption),
    tokenOptions: { issuer, audience: `millrace:${mongo.data.databaseName}`, lifetimeMs: ACCESS_TOKEN_LIFETIME_MS },
    now,
  });
  const cursors = new SigningSecret({ mongo, name: 'cursors', lifetimeMs: CURSOR_MS, encryption, now });
  const fileUrls = new SigningSecret({ mongo, name: 'file-addresses', lifetimeMs: ADDRESS_MS, encryption, now });
  const streams = new SigningSecret({ mongo, name: 'streams', lifetimeMs: STREAM_LIFETIME_MS, encryption, now });
  const secrets = [cursors, fileUrls, streams];
  const passwords = new Passwords(new PasswordStore(mongo), () => new Date(now()));
  const providerStore = new ProviderStore(mongo, encryption);
  const providerTokens = new ProviderTokenVault(mongo, encryption);
  const factorStore = new FactorStore(mongo, encryption);
  const passkeyStore = new PasskeyStore(mongo);
  const ownStores = [userStore, sessionStore, keyStore, activity, providerStore];
  const signInStores = [delayStore, oneTimeTokenStore, linkStore, providerTokens, factorStore, passkeyStore];
  const stores = [...ownStores, ...signInStores, signingKeys, ...secrets, passwords];
  await Promise.all(stores.map((store) => store.start())).catch(explainDecryptionError);

  const oneTimeTokens = new OneTimeTokens(oneTimeTokenStore, now);
  const changed = (id: string) => authenticator.revoke({ ids: new Set([id]), everything: false });
  const keys = new ApiKeys({ store: keyStore, onEnded: (id) => changed(`key:${id}`), onError, now });
  const authenticator = new Authenticator({
    tokens: new AccessTokens(signingKeys),
    sessions: sessionStore,
    users: userStore,
    keys,
    oneTimeTokens,
    passes: new StreamReconnectTokens(streams, now),
    adminMfa: config.adminMfa,
    now,
  });
  const sessions = new Sessions({
    store: sessionStore,
    signingKeys,
    activity,
    key: await loadSharedSecret(mongo, 'refresh-tokens', encryption),
    onEnded: (id) => changed(`session:${id}`),
    now,
  });
  const users = new Users({
    store: userStore,
    passwords,
    sessions,
    tokens: providerTokens,
    factors: [factorStore, passkeyStore],
    pending: oneTimeTokens,
    onChanged: (id) => changed(`user:${id}`),
    now,
  });
  const identities = new Identities({ store: userStore, passwords, activity, tokens: providerTokens, sessions, now });
  const delays = new LoginThrottle(delayStore, (user, network) => sessions.openedFrom(user, network));
  const email = await createEmailServices({
    mongo,
    mode,
    config,
    oneTimeTokens,
    findUser: (id) => userStore.find(id),
    onError,
    onEmail,
    now,
    cleanup,
  });
  const { outbox } = email;

  const factors = new Factors({ store: factorStore, users, sessions, delays, activity, base, now });
  const passkeys = new Passkeys({ store: passkeyStore, users, sessions, oneTimeTokens, delays, activity, base, now });
  const mfaGate = new MfaChallenges({ factors, passwords, oneTimeTokens });
  const recovery = new Recovery({ users, passwords, oneTimeTokens, activity, outbox, base });
  const signIn = new SignIn({ users, passwords, sessions, delays, mfaGate, activity, recovery, registration });
  const magicLinkSignIn = new MagicLinkSignIn({
    store: linkStore,
    users,
    outbox,
    oneTimeTokens,
    sessions,
    delays,
    mfaGate,
    signIn,
    activity,
    codeKey: await loadSharedSecret(mongo, 'letter-codes', encryption),
    isOn: config.magicLink && mailWay(mode, config) !== 'none',
    base,
    now,
  });
  const firstAdmin = new FirstAdmin({
    mode,
    users,
    store: userStore,
    keys,
    countPolicies,
    countProviders: () => providerStore.count(),
    signIn,
    oneTimeTokens,
    activity,
  });
  const leftBehind = await firstAdmin.describeDevelopmentLeftovers();
  await createConfiguredAdmin(firstAdmin, config.owner, onError);

  cleanup.adopt(keys, (it) => it.stop());
  keys.start();
  cleanup.adopt(outbox, (it) => it.close());
  outbox.start();
  const deleteExpired = () =>
    Promise.all([sessions.endExpired(SYSTEM_CHANGE_STAMP), activity.deleteExpired()]).catch(onError);
  cleanup.adopt(setInterval(deleteExpired, CLEANUP_MS).unref(), clearInterval);

  return {
    authenticator,
    signIn,
    mfaGate,
    recovery,
    emailProof: new EmailConfirmation({ users, passwords, oneTimeTokens, signIn, recovery }),
    magicLinkSignIn,
    factors,
    factorSignIn: new FactorSignIn({ factors, passkeys, users, passwords, oneTimeTokens, signIn }),
    passkeys,
    passkeySignIn: new PasskeySignIn({ passkeys, mfaGate, signIn }),
    reauthentication: new Reauthentication(sessions, now),
    delays,
    sessions,
    users,
    identities,
    passwords,
    firstAdmin,
    keys,
    oneTimeTokens,
    signingKeys,
    activity,
    email,
    providerStore,
    providerTokens,
    encryption,
    leftBehind,
    signing: { cursors, fileUrls },
    rotateKeys: async (dropOld) => {
      const kid = await signingKeys.rotate(dropOld);
      await Promise.all(secrets.map((secret) => secret.rotate(dropOld)));
      authenticator.revoke({ ids: new Set(), everything: true });
      await activity.record(
        'system.signing-keys.rotated',
        { key: kid, revoked: dropOld ? 'yes' : 'no' },
        SYSTEM_CHANGE_STAMP,
      );
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
  };
}
