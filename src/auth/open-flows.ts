/**
 * Creates the sign-in with identity providers from the services of authentication (open-auth.ts), the active providers
 * and the checked outgoing calls.
 */
import type { AuditEvents } from '../database/audit-events.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Egress } from '../egress/egress.ts';
import { AuthorizationCodes } from './oauth/authorization-codes.ts';
import { ClaimRenewals } from './oauth/claim-refresh.ts';
import { ProviderSignInThrottle } from './oauth/oauth-throttle.ts';
import type { OpenIdClient } from './oauth/openid.ts';
import { ProviderSignIn, type ProviderSignInDeps, type SamlSignInAdapter } from './oauth/provider-sign-in.ts';
import { ProviderUsers } from './oauth/provider-users.ts';
import { ProviderLogOut, type SamlLogOutAdapter } from './oauth/rp-logout.ts';
import type { ProviderTokenVault } from './providers/provider-tokens.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { LoginThrottle } from './sign-in/login-throttle.ts';
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
  readonly delays: LoginThrottle;
  readonly activity: AuditEvents;
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
  readonly codes: AuthorizationCodes;
  readonly providerLogOut: ProviderLogOut;
  readonly claimRenewals: ClaimRenewals;
}

export function openFlows(
  services: OAuthServices,
  { registry, isAllowedRedirect, egress }: ByProvidersDeps,
): ByProviders {
  const attempts = new ProviderSignInThrottle(services.delays, services.activity);
  const findProvider = (name: string) => registry.find(name);
  let loaded: Promise<OpenIdClient> | undefined;
  // Loading takes 20 ms and 14 modules.
  const openId = () => {
    loaded ??= import('./oauth/openid.ts').then((library) => new library.OpenIdClient(egress, services.now));
    return loaded;
  };
  let samlLoaded: Promise<SamlSignInAdapter & SamlLogOutAdapter> | undefined;
  const saml = () => {
    samlLoaded ??= import('./saml/open-saml.ts').then(({ openSaml }) => openSaml({ ...services, egress }));
    return samlLoaded;
  };
  const common = { ...services, attempts, findProvider, openId, saml, registry, isAllowedRedirect };
  const codes = new AuthorizationCodes(common);
  const users = new ProviderUsers(services);
  return {
    providerSignIn: new ProviderSignIn({ ...common, users, codes }),
    codes,
    providerLogOut: new ProviderLogOut(common),
    claimRenewals: new ClaimRenewals({ ...common, accounts: users }),
  };
}
