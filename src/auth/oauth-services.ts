/** Creates the services of identity providers, and the sign-in with them by OpenID Connect, OAuth and SAML. */
import type { AuthConfig, ServerMode } from '../config/config.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Transactions } from '../database/transactions.ts';
import type { Egress } from '../egress/egress.ts';
import { AuthorizationCodes } from './oauth/authorization-codes.ts';
import { ClaimRenewals } from './oauth/claim-refresh.ts';
import { ProviderSignInThrottle } from './oauth/oauth-throttle.ts';
import type { OpenIdClient } from './oauth/openid.ts';
import { ProviderSignIn } from './oauth/provider-sign-in.ts';
import { ProviderUsers } from './oauth/provider-users.ts';
import { ProviderLogOut, type SamlLogOutAdapter } from './oauth/rp-logout.ts';
import type { SamlSignInAdapter } from './oauth/saml-sign-in-adapter.ts';
import { Providers } from './providers/providers.ts';
import { RedirectAllowlist } from './providers/redirect-allowlist.ts';
import { RedirectStore } from './providers/redirect-store.ts';
import type { AuthServices } from './services.ts';

export interface OAuthServices {
  readonly providers: Providers;
  readonly redirects: RedirectAllowlist;
  readonly providerSignIn: ProviderSignIn;
  readonly codes: AuthorizationCodes;
  readonly providerLogOut: ProviderLogOut;
  readonly claimRenewals: ClaimRenewals;
}

type UsedAuthServices =
  | 'activity'
  | 'delays'
  | 'identities'
  | 'mfaGate'
  | 'oneTimeTokens'
  | 'providerStore'
  | 'providerTokens'
  | 'sessions'
  | 'signIn'
  | 'users';

export interface OAuthServicesDeps {
  readonly mongo: Mongo;
  readonly transactions: Transactions;
  readonly egress: Egress;
  readonly mode: ServerMode;
  readonly config: Pick<AuthConfig, 'redirects' | 'registration'>;
  readonly auth: Pick<AuthServices, UsedAuthServices>;
  /** Called with errors that no response can report. */
  readonly onError: (error: unknown) => void;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

export function createOAuthServices(deps: OAuthServicesDeps): OAuthServices {
  const { mongo, transactions, egress, mode, config, auth, onError, cleanup } = deps;
  const { users, identities, sessions, signIn, mfaGate, oneTimeTokens, providerTokens: tokens } = auth;
  const now = Date.now;
  const providers = new Providers({
    store: auth.providerStore,
    transactions,
    checkUrl: (url) => egress.checkUrl(url),
    onError,
  });
  const redirects = new RedirectAllowlist({ store: new RedirectStore(mongo), mode, fixed: config.redirects, onError });
  const attempts = new ProviderSignInThrottle(auth.delays, auth.activity);
  const findProvider = (name: string) => providers.find(name);
  const isAllowedRedirect = (url: string) => redirects.allows(url);
  let openIdLoaded: Promise<OpenIdClient> | undefined;
  // Loading takes 20 ms and 14 modules.
  const openId = () => {
    openIdLoaded ??= import('./oauth/openid.ts').then((library) => new library.OpenIdClient(egress, now));
    return openIdLoaded;
  };
  let samlLoaded: Promise<SamlSignInAdapter & SamlLogOutAdapter> | undefined;
  // Loading takes some 200 modules.
  const saml = () => {
    samlLoaded ??= import('./saml/saml-client.ts').then(({ createSamlClient }) =>
      createSamlClient({ mongo, egress, oneTimeTokens, users, sessions, now }),
    );
    return samlLoaded;
  };

  const accounts = new ProviderUsers({ users, registration: config.registration, now });
  const codes = new AuthorizationCodes({
    findProvider,
    users,
    identities,
    signIn,
    mfaGate,
    oneTimeTokens,
    attempts,
    tokens,
  });
  const claimRenewals = new ClaimRenewals({
    findProvider,
    openId,
    tokens,
    oneTimeTokens,
    users,
    sessions,
    accounts,
    onError,
  });
  cleanup.adopt(claimRenewals, (it) => it.settled());
  return {
    providers,
    redirects,
    providerSignIn: new ProviderSignIn({
      registry: providers,
      isAllowedRedirect,
      openId,
      saml,
      users: accounts,
      codes,
      oneTimeTokens,
      attempts,
      tokens,
    }),
    codes,
    providerLogOut: new ProviderLogOut({ sessions, findProvider, openId, saml, attempts, isAllowedRedirect }),
    claimRenewals,
  };
}
