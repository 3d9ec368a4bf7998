/**
 * Creates the sign-in with identity providers from the services of authentication (open-auth.ts), the active providers
 * and the checked outgoing calls.
 */
import type { Activity } from '../database/audit-events.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Egress } from '../egress/egress.ts';
import { OneTimeCodes } from './oauth/authorization-codes.ts';
import { ClaimRenewals } from './oauth/claim-refresh.ts';
import { ProviderAttempts } from './oauth/oauth-throttle.ts';
import type { OpenId } from './oauth/openid.ts';
import { ProviderSignIn, type ProviderSignInDeps, type SamlMessages } from './oauth/provider-sign-in.ts';
import { ProviderAccounts } from './oauth/provider-users.ts';
import { ProviderLogOut, type SamlLogOutMessages } from './oauth/rp-logout.ts';
import type { ProviderTokenVault } from './providers/provider-tokens.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { SignInDelays } from './sign-in/login-throttle.ts';
import type { MfaGate } from './sign-in/mfa-gate.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { OneTimeTokens } from './tokens/one-time-tokens.ts';
import type { Identities } from './users/identities.ts';
import type { Users } from './users/users.ts';

export interface OAuthServices {
  readonly mongo: Mongo;
  readonly users: Users;
  readonly identities: Identities;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly mfaGate: MfaGate;
  readonly oneTimeTokens: OneTimeTokens;
  readonly delays: SignInDelays;
  readonly activity: Activity;
  readonly tokens: ProviderTokenVault;
  readonly registration: 'open' | 'closed';
  /** Called with errors that no response can report. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What sign-in with providers needs besides users. */
export interface ByProvidersDeps extends Pick<ProviderSignInDeps, 'registry' | 'isAllowedRedirect'> {
  readonly egress: Egress;
}

export interface ByProviders {
  readonly providerSignIn: ProviderSignIn;
  readonly codes: OneTimeCodes;
  readonly providerLogOut: ProviderLogOut;
  readonly claimRenewals: ClaimRenewals;
}

export function openFlows(
  services: OAuthServices,
  { registry, isAllowedRedirect, egress }: ByProvidersDeps,
): ByProviders {
  const attempts = new ProviderAttempts(services.delays, services.activity);
  const findProvider = (name: string) => registry.find(name);
  let loaded: Promise<OpenId> | undefined;
  // Loading takes 20 ms and 14 modules.
  const openId = () => {
    loaded ??= import('./oauth/openid.ts').then((library) => new library.OpenId(egress, services.now));
    return loaded;
  };
  let samlLoaded: Promise<SamlMessages & SamlLogOutMessages> | undefined;
  const saml = () => {
    samlLoaded ??= import('./saml/open-saml.ts').then(({ openSaml }) => openSaml({ ...services, egress }));
    return samlLoaded;
  };
  const common = { ...services, attempts, findProvider, openId, saml, registry, isAllowedRedirect };
  const codes = new OneTimeCodes(common);
  const users = new ProviderAccounts(services);
  return {
    providerSignIn: new ProviderSignIn({ ...common, users, codes }),
    codes,
    providerLogOut: new ProviderLogOut(common),
    claimRenewals: new ClaimRenewals({ ...common, accounts: users }),
  };
}
