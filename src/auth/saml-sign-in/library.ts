/** `@node-saml/node-saml` as one message needs it: no part of it is kept from one message to the next. */
import { SAML } from '@node-saml/node-saml';
import type { Provider } from '../providers/provider.ts';
import type { SamlFacts } from './known-providers.ts';

/** Which signatures have to be good: all that there are. */
export interface Signed {
  readonly response: boolean;
  readonly assertion: boolean;
}

interface Message {
  /** Where answers are taken; needed where one is asked for. */
  readonly callback?: string;
  /** Id of the message that is made. */
  readonly id?: string;
  readonly signed?: Signed;
}

export function samlLibrary(provider: Provider, facts: SamlFacts, message: Message): SAML {
  const { clientId, saml } = provider;
  const { callback = facts.entryPoint, id = '_', signed = { response: false, assertion: false } } = message;
  const key = saml?.privateKey ?? null;
  return new SAML({
    issuer: clientId,
    // Audience and times are checked by us (saml/response.ts): what is checked in one place is tested there.
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
    // Requests by redirect are compressed, those to log out among them.
    skipRequestCompression: message.callback !== undefined && facts.binding === 'post',
    generateUniqueId: () => id,
  });
}
