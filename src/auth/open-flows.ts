/**
 * Puts together what signs in by identity providers, from the parts of authentication (open-auth.ts), the providers in
 * force and the guarded way out. Not here: HTTP.
 */
import type { Activity } from '../database/activity.ts';
import type { Mongo } from '../database/mongo.ts';
import type { Egress } from '../egress/egress.ts';
import type { Identities } from './accounts/identities.ts';
import type { Users } from './accounts/users.ts';
import { ClaimRenewals } from './flows/claim-renewals.ts';
import { OneTimeCodes } from './flows/one-time-codes.ts';
import type { OpenId } from './flows/openid.ts';
import { ProviderAccounts } from './flows/provider-accounts.ts';
import { ProviderAttempts } from './flows/provider-attempts.ts';
import { ProviderLogOut, type SamlLogOutMessages } from './flows/provider-log-out.ts';
import { ProviderSignIn, type ProviderSignInParts, type SamlMessages } from './flows/provider-sign-in.ts';
import type { KeptTokens } from './providers/kept-tokens.ts';
import type { SecondStep } from './sign-in/second-step.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { SignInDelays } from './sign-in/sign-in-delays.ts';
import type { SingleUse } from './sign-in/single-use.ts';
import type { Sessions } from './tokens/sessions.ts';

export interface FlowParts {
  readonly mongo: Mongo;
  readonly users: Users;
  readonly identities: Identities;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly secondStep: SecondStep;
  readonly singleUse: SingleUse;
  readonly delays: SignInDelays;
  readonly activity: Activity;
  readonly tokens: KeptTokens;
  readonly registration: 'open' | 'closed';
  /** Called with errors that no answer can report. */
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What signing in by providers needs besides accounts. */
export interface ByProvidersNeeds extends Pick<ProviderSignInParts, 'book' | 'isAllowedRedirect'> {
  readonly egress: Egress;
}

export interface ByProviders {
  readonly providerSignIn: ProviderSignIn;
  readonly codes: OneTimeCodes;
  readonly providerLogOut: ProviderLogOut;
  readonly claimRenewals: ClaimRenewals;
}

export function openFlows(parts: FlowParts, { book, isAllowedRedirect, egress }: ByProvidersNeeds): ByProviders {
  const attempts = new ProviderAttempts(parts.delays, parts.activity);
  const findProvider = (name: string) => book.find(name);
  let loaded: Promise<OpenId> | undefined;
  // Loading takes 20 ms and 14 modules.
  const openId = () => {
    loaded ??= import('./flows/openid.ts').then((library) => new library.OpenId(egress, parts.now));
    return loaded;
  };
  let samlLoaded: Promise<SamlMessages & SamlLogOutMessages> | undefined;
  const saml = () => {
    samlLoaded ??= import('./saml-sign-in/open-saml.ts').then(({ openSaml }) => openSaml({ ...parts, egress }));
    return samlLoaded;
  };
  const common = { ...parts, attempts, findProvider, openId, saml, book, isAllowedRedirect };
  const codes = new OneTimeCodes(common);
  const accounts = new ProviderAccounts(parts);
  return {
    providerSignIn: new ProviderSignIn({ ...common, accounts, codes }),
    codes,
    providerLogOut: new ProviderLogOut(common),
    claimRenewals: new ClaimRenewals({ ...common, accounts }),
  };
}
