/**
 * The door to `@node-saml/node-saml`, loaded with the first sign-in by SAML: what the browser brings to a provider, and what
 * the answer proves. The library makes requests, decrypts, and verifies signatures; what else an answer has to say is
 * checked here, before and after. Not here: the flow and its cookie (flows/provider-sign-in.ts), what the claims mean
 * (providers/claims.ts), and logging out (saml-log-out.ts).
 */
import { promisify } from 'node:util';
import type { XmlElement } from '@xmldom/xmldom';
import { decrypt } from 'xml-encryption';
import type { Flow, FlowProofs } from '../flows/flow.ts';
import type { ProvedUser } from '../flows/proved-user.ts';
import type { LogOutMessage } from '../flows/provider-log-out.ts';
import { answerRefused, providerDenied } from '../flows/provider-refusal.ts';
import type { Onward } from '../flows/provider-sign-in.ts';
import { identityId } from '../identity/provider-identity.ts';
import type { Provider } from '../providers/provider.ts';
import { checkEncryption } from '../saml/encryption.ts';
import {
  type Assertion,
  checkResponse,
  type HonestAnswer,
  onlyAssertion,
  readAssertion,
  StatusRefused,
} from '../saml/response.ts';
import { signedOwners } from '../saml/signatures.ts';
import { decodedXml, elementsIn, readXml, SamlFault } from '../saml/xml.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import type { SessionOrigin } from '../tokens/session.ts';
import type { KnownSamlProviders, SamlFacts } from './known-providers.ts';
import { type Signed, samlLibrary } from './library.ts';
import { logoutAddress, ownMetadata } from './own-metadata.ts';
import type { SamlLogOut } from './saml-log-out.ts';
import type { SamlSessionStore } from './saml-session-store.ts';
import { samlUser } from './saml-user.ts';

export interface SamlParts {
  readonly known: KnownSamlProviders;
  readonly singleUse: Pick<SingleUse, 'isFirst'>;
  readonly sessionNames: SamlSessionStore;
  readonly logOut: SamlLogOut;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What a response is checked against besides the provider. */
interface Awaited {
  readonly recipient: string;
  readonly inResponseTo: string | null;
}

export class Saml {
  readonly #parts: SamlParts;

  constructor(parts: SamlParts) {
    this.#parts = parts;
  }

  /**
   * What the browser brings to a provider to sign in there.
   * @throws MillraceError `provider-unavailable`, `provider-answer-refused`
   */
  async begin(provider: Provider, relayState: string, flow: Flow & FlowProofs): Promise<Onward> {
    const facts = await this.#parts.known.about(provider);
    if (facts.wantsSigned && provider.saml?.privateKey == null) {
      throw answerRefused(provider.name, 'its metadata wants signed requests, and there is no private key');
    }
    const library = samlLibrary(provider, facts, { callback: flow.callback, id: requestId(flow) });
    if (facts.binding === 'redirect') {
      return { location: await library.getAuthorizeUrlAsync(relayState, undefined, {}) };
    }
    return { location: facts.entryPoint, form: await library.getAuthorizeMessageAsync(relayState) };
  }

  /**
   * Verifies the answer of a provider.
   * @param flow that it ends; null where the sign-in began at the provider
   * @throws MillraceError `provider-denied`, `provider-unavailable`, `provider-answer-refused`
   */
  async prove(provider: Provider, recipient: string, flow: FlowProofs | null, message: string): Promise<ProvedUser> {
    const { name } = provider;
    try {
      const awaited = { recipient, inResponseTo: flow === null ? null : requestId(flow) };
      const { assertion, issuer } = await this.#assertion(provider, awaited, message);
      const user = samlUser(provider, assertion);
      await this.#once(`${issuer} ${assertion.id}`, assertion.deadAt);
      const identity = identityId(name, user.subject);
      if (flow !== null && identity !== null) {
        const { nameId, sessionIndex } = assertion;
        await this.#parts.sessionNames.save(name, { identity, nameId, sessionIndex }, this.#parts.now());
      }
      return user;
    } catch (error) {
      if (error instanceof StatusRefused) throw providerDenied(name, error.message);
      if (error instanceof SamlFault) throw answerRefused(name, error.message);
      throw error;
    }
  }

  /** Our own metadata, for the provider. */
  metadata(provider: Provider, base: string): string {
    return ownMetadata(provider, base);
  }

  /** See {@link SamlLogOut.address}. */
  logOutAddress(provider: Provider, identity: string, redirect: string, state: string | null): Promise<string | null> {
    return this.#parts.logOut.address(provider, identity, redirect, state);
  }

  /** See {@link SamlLogOut.receive}. */
  receiveLogOut(
    provider: Provider,
    message: LogOutMessage,
    base: string,
    origin: SessionOrigin,
  ): Promise<string | null> {
    return this.#parts.logOut.receive(provider, message, logoutAddress(base, provider), origin);
  }

  async #assertion(
    provider: Provider,
    awaited: Awaited,
    message: string,
  ): Promise<{ readonly assertion: Assertion; readonly issuer: string }> {
    const { known, now } = this.#parts;
    const facts = await known.about(provider);
    const expected = { ...awaited, issuer: facts.issuer, audience: provider.clientId, now: now() };
    const signed = await this.#looked(provider, expected, message);
    const verify = async (by: SamlFacts) => {
      const library = samlLibrary(provider, by, { callback: awaited.recipient, signed });
      const { profile } = await library.validatePostResponseAsync({ SAMLResponse: message });
      return profile?.getAssertionXml?.() ?? null;
    };
    const xml = await verify(facts).catch(async (error: unknown) => {
      // The provider may sign with a new key since a moment ago.
      if (known.readAgain(provider)) return verify(await known.about(provider)).catch(refused);
      return refused(error);
    });
    if (xml === null) throw new SamlFault('nothing that is signed holds an assertion');
    return { assertion: readAssertion(xml, expected), issuer: facts.issuer };
  }

  /** Everything that can be judged before a signature is verified. @returns what has to be verified */
  async #looked({ saml }: Provider, expected: HonestAnswer, message: string): Promise<Signed> {
    const root = readXml(decodedXml(message));
    const assertion = onlyAssertion(root);
    const signed = signedOwners(root, [root, assertion]);
    checkResponse(root, expected);
    const response = signed.includes(root);
    const inner =
      assertion.localName === 'Assertion' ? signed.includes(assertion) : await isSignedInside(assertion, saml);
    if (!response && !inner) throw new SamlFault('neither the response nor the assertion is signed');
    if (!response && saml?.wantResponseSigned === true) throw new SamlFault('the response is not signed');
    return { response, assertion: inner };
  }

  /** @throws SamlFault for an assertion that was used before, in whichever process */
  async #once(assertion: string, deadAt: number): Promise<void> {
    const { singleUse, now } = this.#parts;
    if (await singleUse.isFirst(`saml assertion ${assertion}`, deadAt - now())) return;
    throw new SamlFault('the assertion was used before');
  }
}

/** Made of the secret in the cookie of the flow: an answer fits one browser. */
function requestId({ nonce }: Pick<FlowProofs, 'nonce'>): string {
  return `_${nonce}`;
}

/** Whether an encrypted assertion is signed, which nobody sees before it is decrypted. @throws SamlFault */
async function isSignedInside(encrypted: XmlElement, saml: Provider['saml']): Promise<boolean> {
  checkEncryption(encrypted);
  if (saml?.privateKey == null) throw new SamlFault('the assertion is encrypted, and there is no private key');
  const decrypted = await promisify(decrypt)(encrypted.toString(), { key: saml.privateKey }).catch((error: unknown) => {
    throw new SamlFault('the assertion cannot be decrypted by our key', { cause: error });
  });
  const root = readXml(decrypted);
  if (
    root.localName !== 'Assertion' ||
    elementsIn(root).filter(({ localName }) => localName === 'Assertion').length > 1
  ) {
    throw new SamlFault('what is encrypted is not one assertion');
  }
  return signedOwners(root, [root]).length === 1;
}

/** The words of the library may hold what the message says. */
function refused(error: unknown): never {
  const words = error instanceof Error && /^Invalid (?:document )?signature/.test(error.message);
  throw new SamlFault(words ? 'no known key made the signature' : 'the library refuses it', { cause: error });
}
