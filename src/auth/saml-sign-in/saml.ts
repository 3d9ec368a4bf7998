/**
 * The door to `@node-saml/node-saml`, loaded with the first sign-in by SAML: what the browser brings to a provider, and what
 * the answer proves. The library makes requests, decrypts, and verifies signatures; what else an answer has to say is
 * checked here, before and after. Not here: the flow and its cookie (flows/provider-sign-in.ts), what the claims mean
 * (providers/claims.ts), and logging out (saml-log-out.ts).
 */
import { promisify } from 'node:util';
import { SAML } from '@node-saml/node-saml';
import type { XmlElement } from '@xmldom/xmldom';
import { decrypt } from 'xml-encryption';
import type { Flow, FlowProofs } from '../flows/flow.ts';
import type { ProvedUser } from '../flows/proved-user.ts';
import { answerRefused, providerDenied } from '../flows/provider-refusal.ts';
import type { Onward } from '../flows/provider-sign-in.ts';
import type { Provider } from '../providers/provider.ts';
import {
  type Assertion,
  checkResponse,
  type HonestAnswer,
  onlyAssertion,
  readAssertion,
  StatusRefused,
} from '../saml/response.ts';
import { checkCiphers, signedOwners } from '../saml/signatures.ts';
import { decodedXml, elementsIn, readXml, SamlFault } from '../saml/xml.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import type { KnownSamlProviders, SamlFacts } from './known-providers.ts';
import { ownMetadata } from './own-metadata.ts';
import { samlUser } from './saml-user.ts';

export interface SamlParts {
  readonly known: KnownSamlProviders;
  readonly singleUse: Pick<SingleUse, 'isFirst'>;
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
    const library = this.library(provider, facts, flow.callback, requestId(flow));
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

  /** The library as one message needs it. */
  library(provider: Provider, facts: SamlFacts, callbackUrl: string, id: string, signed: Signed = NOTHING): SAML {
    const { clientId, saml } = provider;
    const key = saml?.privateKey ?? null;
    return new SAML({
      issuer: clientId,
      // Audience and times are checked here (saml/response.ts): what is checked twice is tested once.
      audience: false,
      acceptedClockSkewMs: -1,
      callbackUrl,
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
      skipRequestCompression: facts.binding === 'post',
      generateUniqueId: () => id,
    });
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
      const library = this.library(provider, by, awaited.recipient, '_', signed);
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

/** Which signatures have to be good: all that there are. */
interface Signed {
  readonly response: boolean;
  readonly assertion: boolean;
}

const NOTHING: Signed = { response: false, assertion: false };

/** Made of the secret in the cookie of the flow: an answer fits one browser. */
function requestId({ nonce }: Pick<FlowProofs, 'nonce'>): string {
  return `_${nonce}`;
}

/** Whether an encrypted assertion is signed, which nobody sees before it is decrypted. @throws SamlFault */
async function isSignedInside(encrypted: XmlElement, saml: Provider['saml']): Promise<boolean> {
  checkCiphers(encrypted);
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
