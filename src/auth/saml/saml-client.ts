/**
 * The adapter of `@node-saml/node-saml`, loaded with the first sign-in by SAML: the request to a provider, and what the
 * response proves. The library creates requests, decrypts, and verifies signatures; all other checks of a response are
 * here, before and after.
 */
import { promisify } from 'node:util';
import type { XmlElement } from '@xmldom/xmldom';
import { decrypt } from 'xml-encryption';
import type { Mongo } from '../../database/mongo.ts';
import { identityId } from '../identity/provider-identity.ts';
import type { AuthorizationRequest, AuthorizationSecrets } from '../oauth/pending-provider-sign-in.ts';
import { providerDenied, providerResponseInvalid } from '../oauth/provider-errors.ts';
import type { SamlLogoutMessage } from '../oauth/rp-logout.ts';
import type { ProviderRedirect } from '../oauth/saml-sign-in-adapter.ts';
import type { VerifiedIdentity } from '../oauth/verified-identity.ts';
import type { Provider } from '../providers/provider.ts';
import type { SessionOrigin } from '../sessions/session.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import { checkEncryptedAssertion } from './encryption-checks.ts';
import { SamlMetadataCache, type SamlProviderConfig } from './idp-metadata-cache.ts';
import { configureNodeSaml, type RequiredSignatures } from './node-saml.ts';
import {
  checkSamlResponse,
  type ExpectedSamlResponse,
  findSingleAssertion,
  readAssertion,
  type SamlAssertion,
  SamlStatusError,
} from './response-checks.ts';
import { samlUser } from './saml-attributes.ts';
import { SamlSessionStore } from './saml-session-store.ts';
import { findUnverifiedSignedElements } from './signature-checks.ts';
import { SamlLogOut, type SamlLogOutDeps } from './single-logout.ts';
import { createSpMetadata, samlLogoutUrl } from './sp-metadata.ts';
import { decodeBase64Xml, listAllElements, readXml, SamlRejection } from './xml.ts';

export interface SamlClientDeps {
  readonly known: SamlMetadataCache;
  readonly oneTimeTokens: Pick<OneTimeTokens, 'isFirst'>;
  readonly sessionNames: SamlSessionStore;
  readonly logOut: SamlLogOut;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface CreateSamlClientDeps extends Omit<SamlLogOutDeps, 'known' | 'sessionNames'> {
  readonly mongo: Pick<Mongo, 'log'>;
  readonly egress: ConstructorParameters<typeof SamlMetadataCache>[0];
}

export function createSamlClient({
  mongo,
  egress,
  oneTimeTokens,
  users,
  sessions,
  now,
}: CreateSamlClientDeps): SamlClient {
  const known = new SamlMetadataCache(egress, now);
  const sessionNames = new SamlSessionStore(mongo);
  const logOut = new SamlLogOut({ known, sessionNames, oneTimeTokens, users, sessions, now });
  return new SamlClient({ known, oneTimeTokens, sessionNames, logOut, now });
}

/** What a response is checked against besides the provider. */
interface Awaited {
  readonly recipient: string;
  readonly inResponseTo: string | null;
}

export class SamlClient {
  readonly #deps: SamlClientDeps;

  constructor(deps: SamlClientDeps) {
    this.#deps = deps;
  }

  /**
   * The request that the browser brings to a provider to sign in there.
   * @throws MillraceError `provider-unavailable`, `provider-response-invalid`
   */
  async begin(
    provider: Provider,
    relayState: string,
    flow: AuthorizationRequest & AuthorizationSecrets,
  ): Promise<ProviderRedirect> {
    const facts = await this.#deps.known.about(provider);
    if (facts.wantsSigned && provider.saml?.privateKey == null) {
      throw providerResponseInvalid(
        provider.name,
        'its metadata requires signed requests, and there is no private key',
      );
    }
    const library = configureNodeSaml(provider, facts, { callback: flow.callback, id: requestId(flow) });
    if (facts.binding === 'redirect') {
      return { location: await library.getAuthorizeUrlAsync(relayState, undefined, {}) };
    }
    return { location: facts.entryPoint, form: await library.getAuthorizeMessageAsync(relayState) };
  }

  /**
   * Verifies the response of a provider.
   * @param flow that it ends; null where the sign-in started at the provider
   * @throws MillraceError `provider-denied`, `provider-unavailable`, `provider-response-invalid`
   */
  async verifyResponse(
    provider: Provider,
    recipient: string,
    flow: AuthorizationSecrets | null,
    message: string,
  ): Promise<VerifiedIdentity> {
    const { name } = provider;
    try {
      const awaited = { recipient, inResponseTo: flow === null ? null : requestId(flow) };
      const { assertion, issuer } = await this.#assertion(provider, awaited, message);
      const user = samlUser(provider, assertion);
      await this.#once(`${issuer} ${assertion.id}`, assertion.expiresAt);
      const identity = identityId(name, user.subject);
      if (flow !== null && identity !== null) {
        const { nameId, sessionIndex } = assertion;
        await this.#deps.sessionNames.save(name, { identity, nameId, sessionIndex }, this.#deps.now());
      }
      return user;
    } catch (error) {
      if (error instanceof SamlStatusError) throw providerDenied(name, error.message);
      if (error instanceof SamlRejection) throw providerResponseInvalid(name, error.message);
      throw error;
    }
  }

  /** Our own metadata, for the provider. */
  metadata(provider: Provider, base: string): string {
    return createSpMetadata(provider, base);
  }

  /** See {@link SamlLogOut.address}. */
  logoutUrl(provider: Provider, identity: string, redirect: string, state: string | null): Promise<string | null> {
    return this.#deps.logOut.address(provider, identity, redirect, state);
  }

  /** See {@link SamlLogOut.receive}. */
  receiveLogOut(
    provider: Provider,
    message: SamlLogoutMessage,
    base: string,
    origin: SessionOrigin,
  ): Promise<string | null> {
    return this.#deps.logOut.receive(provider, message, samlLogoutUrl(base, provider), origin);
  }

  async #assertion(
    provider: Provider,
    awaited: Awaited,
    message: string,
  ): Promise<{ readonly assertion: SamlAssertion; readonly issuer: string }> {
    const { known, now } = this.#deps;
    const facts = await known.about(provider);
    const expected = { ...awaited, issuer: facts.issuer, audience: provider.clientId, now: now() };
    const signed = await this.#validate(provider, expected, message);
    const verify = async (by: SamlProviderConfig) => {
      const library = configureNodeSaml(provider, by, { callback: awaited.recipient, signed });
      const { profile } = await library.validatePostResponseAsync({ SAMLResponse: message });
      return profile?.getAssertionXml?.() ?? null;
    };
    const xml = await verify(facts).catch(async (error: unknown) => {
      // The provider may have just started to sign with a new key.
      if (known.allowReload(provider)) return verify(await known.about(provider)).catch(refused);
      return refused(error);
    });
    if (xml === null) throw new SamlRejection('no signed element contains an assertion');
    return { assertion: readAssertion(xml, expected), issuer: facts.issuer };
  }

  /** All checks before a signature is verified. @returns what has to be verified */
  async #validate({ saml }: Provider, expected: ExpectedSamlResponse, message: string): Promise<RequiredSignatures> {
    const root = readXml(decodeBase64Xml(message));
    const assertion = findSingleAssertion(root);
    const signed = findUnverifiedSignedElements(root, [root, assertion]);
    checkSamlResponse(root, expected);
    const response = signed.includes(root);
    const inner =
      assertion.localName === 'Assertion' ? signed.includes(assertion) : await isSignedInside(assertion, saml);
    if (!response && !inner) throw new SamlRejection('neither the response nor the assertion is signed');
    if (!response && saml?.wantResponseSigned === true) throw new SamlRejection('the response is not signed');
    return { response, assertion: inner };
  }

  /** @throws SamlRejection for an assertion that was used before, in any process */
  async #once(assertion: string, deadAt: number): Promise<void> {
    const { oneTimeTokens, now } = this.#deps;
    if (await oneTimeTokens.isFirst(`saml assertion ${assertion}`, deadAt - now())) return;
    throw new SamlRejection('the assertion was used before');
  }
}

/** Derived from the secret in the cookie of the sign-in: a response fits one browser. */
function requestId({ nonce }: Pick<AuthorizationSecrets, 'nonce'>): string {
  return `_${nonce}`;
}

/** Whether an encrypted assertion is signed, which only decryption shows. @throws SamlRejection */
async function isSignedInside(encrypted: XmlElement, saml: Provider['saml']): Promise<boolean> {
  checkEncryptedAssertion(encrypted);
  if (saml?.privateKey == null) throw new SamlRejection('the assertion is encrypted, and there is no private key');
  const decrypted = await promisify(decrypt)(encrypted.toString(), { key: saml.privateKey }).catch((error: unknown) => {
    throw new SamlRejection('the assertion cannot be decrypted by our key', { cause: error });
  });
  const root = readXml(decrypted);
  if (
    root.localName !== 'Assertion' ||
    listAllElements(root).filter(({ localName }) => localName === 'Assertion').length > 1
  ) {
    throw new SamlRejection('the encrypted content is not one assertion');
  }
  return findUnverifiedSignedElements(root, [root]).length === 1;
}

/** The messages of the library may contain parts of the message. */
function refused(error: unknown): never {
  const words = error instanceof Error && /^Invalid (?:document )?signature/.test(error.message);
  throw new SamlRejection(words ? 'no known key made the signature' : 'the library rejects it', { cause: error });
}
