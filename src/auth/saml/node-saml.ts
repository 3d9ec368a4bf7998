/** Configures `@node-saml/node-saml` for one message: nothing of it is kept for the next one. */
import { SAML } from '@node-saml/node-saml';
import type { Provider } from '../providers/provider.ts';
import type { SamlProviderConfig } from './idp-metadata-cache.ts';

/** Which signatures must be valid: all that exist. */
export interface RequiredSignatures {
  readonly response: boolean;
  readonly assertion: boolean;
}

interface Message {
  /** Where responses are received; required for a request. */
  readonly callback?: string;
  /** Id of the created message. */
  readonly id?: string;
  readonly signed?: RequiredSignatures;
}

export function configureNodeSaml(provider: Provider, facts: SamlProviderConfig, message: Message): SAML {
  const { clientId, saml } = provider;
  const { callback = facts.entryPoint, id = '_', signed = { response: false, assertion: false } } = message;
  const key = saml?.privateKey ?? null;
  return new SAML({
    issuer: clientId,
    // We check audience and times (saml/response-checks.ts), so that one place holds and tests them.
    audience: false,
    acceptedClockSkewMs: -1,
    callbackUrl: callback,
    entryPoint: facts.entryPoint,
    idpCert: [...facts.certificates],
    idpIssuer: facts.issuer,
    ...(facts.logoutUrl === null ? {} : { logoutUrl: facts.logoutUrl }),
    ...(key === null ? {} : { privateKey: key, decryptionPvk: key }),
    identifierFormat: saml?.nameIdFormat ?? null,
    signatureAlgorithm: 'sha256',
    digestAlgorithm: 'sha256',
    wantAssertionsSigned: signed.assertion,
    wantAuthnResponseSigned: signed.response,
    disableRequestedAuthnContext: true,
    // Requests by redirect are compressed, including logout requests.
    skipRequestCompression: message.callback !== undefined && facts.binding === 'post',
    generateUniqueId: () => id,
  });
}
