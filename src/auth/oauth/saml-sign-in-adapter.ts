/** What a sign-in needs of SAML. An interface, because the folder `saml` imports this one. */
import type { Provider } from '../providers/provider.ts';
import type { BrowserRedirect } from './client-redirect.ts';
import type { AuthorizationRequest, AuthorizationSecrets } from './pending-provider-sign-in.ts';
import type { VerifiedIdentity } from './verified-identity.ts';

/** Where the browser goes to sign in at a provider, and what it posts there. */
export type ProviderRedirect = Pick<BrowserRedirect, 'location' | 'form'>;

/** Sign-in with SAML, which has other messages than OAuth. */
export interface SamlSignInAdapter {
  begin(
    provider: Provider,
    relayState: string,
    flow: AuthorizationRequest & AuthorizationSecrets,
  ): Promise<ProviderRedirect>;
  /**
   * @param flow null where the sign-in started at the provider
   * @param recipient the URL that received the response
   */
  verifyResponse(
    provider: Provider,
    recipient: string,
    flow: AuthorizationSecrets | null,
    message: string,
  ): Promise<VerifiedIdentity>;
  metadata(provider: Provider, base: string): string;
}
