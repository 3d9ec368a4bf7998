/**
 * SAML single logout (SAML Profiles 2.0 section 4.4), started by us or by the provider. Every message must be signed.
 */
import { randomBytes } from 'node:crypto';
import { actorText } from '../../database/system-collection.ts';
import { clientRedirectUrl } from '../oauth/client-redirect.ts';
import { providerResponseInvalid } from '../oauth/provider-errors.ts';
import type { SamlLogoutMessage } from '../oauth/rp-logout.ts';
import type { Provider } from '../providers/provider.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { OneTimeTokens } from '../tokens/one-time-tokens.ts';
import type { Users } from '../users/users.ts';
import type { SamlMetadataCache, SamlProviderConfig } from './idp-metadata-cache.ts';
import { configureNodeSaml } from './node-saml.ts';
import { verifyRedirectSignature } from './redirect-binding-signature.ts';
import {
  checkInResponseTo,
  checkIssueInstant,
  checkSamlMessage,
  checkSamlStatus,
  checkValidityPeriod,
  readNameId,
  SamlStatusError,
} from './response-checks.ts';
import type { SamlSessionStore } from './saml-session-store.ts';
import { findUnverifiedSignedElements, readElementId } from './signature-checks.ts';
import { decodeBase64Xml, readXml, readXmlAttribute, requireOnlyChild, SamlRejection } from './xml.ts';

/** How long a request is remembered, in milliseconds, so that it works once; older ones are rejected by their date. */
const REMEMBERED_MS = 3_600_000;

export interface SamlLogOutDeps {
  readonly known: SamlMetadataCache;
  readonly sessionNames: SamlSessionStore;
  readonly oneTimeTokens: Pick<OneTimeTokens, 'isFirst' | 'make' | 'take'>;
  readonly users: Pick<Users, 'byIdentity'>;
  readonly sessions: Pick<Sessions, 'endByIdentity'>;
  readonly now: () => number;
}

export class SamlLogOut {
  readonly #deps: SamlLogOutDeps;

  constructor(deps: SamlLogOutDeps) {
    this.#deps = deps;
  }

  /**
   * The URL at which the browser ends its session at the provider.
   * @returns null where the provider has no such URL, or there is no key to sign with
   * @throws MillraceError `provider-unavailable`, `provider-response-invalid`
   */
  async address(provider: Provider, identity: string, redirect: string, state: string | null): Promise<string | null> {
    const { known, sessionNames, oneTimeTokens } = this.#deps;
    const facts = await known.about(provider);
    const session = await sessionNames.newestOf(identity);
    if (facts.logoutUrl === null || provider.saml?.privateKey == null || session === null) return null;
    const id = `_${randomBytes(20).toString('hex')}`;
    const requested = { provider: provider.name, redirect, state, id };
    const relayState = await oneTimeTokens.make('saml-logout', null, { facts: requested });
    const { value, format, nameQualifier, spNameQualifier } = session.nameId;
    const user = {
      issuer: facts.issuer,
      nameID: value,
      nameIDFormat: format ?? 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
      ...(nameQualifier === null ? {} : { nameQualifier }),
      ...(spNameQualifier === null ? {} : { spNameQualifier }),
      ...(session.sessionIndex === null ? {} : { sessionIndex: session.sessionIndex }),
    };
    return configureNodeSaml(provider, facts, { id }).getLogoutUrlAsync(user, relayState, {});
  }

  /**
   * Handles a logout request or response of a provider.
   * @param here the URL that it was sent to
   * @returns where the browser goes; null where no one waits for a response
   * @throws MillraceError `provider-unavailable`, `provider-response-invalid`
   */
  async receive(
    provider: Provider,
    message: SamlLogoutMessage,
    here: string,
    origin: SessionOrigin,
  ): Promise<string | null> {
    try {
      const facts = await this.#deps.known.about(provider);
      return message.name === 'SAMLRequest'
        ? await this.#requested(provider, facts, message, here, origin)
        : await this.#response(provider, facts, message, here);
    } catch (error) {
      if (error instanceof SamlRejection) throw providerResponseInvalid(provider.name, error.message);
      throw error;
    }
  }

  async #requested(
    provider: Provider,
    facts: SamlProviderConfig,
    message: SamlLogoutMessage,
    here: string,
    origin: SessionOrigin,
  ): Promise<string | null> {
    const { oneTimeTokens, now } = this.#deps;
    const root = await this.#verified(provider, facts, message);
    checkSamlMessage(root, 'LogoutRequest', here, facts);
    requireOnlyChild(root, 'assertion', 'Issuer');
    checkValidityPeriod(root, now());
    checkIssueInstant(root, now());
    const nameId = readNameId(requireOnlyChild(root, 'assertion', 'NameID'));
    const id = readElementId(root);
    if (!(await oneTimeTokens.isFirst(`saml logout ${facts.issuer} ${id}`, REMEMBERED_MS))) {
      throw new SamlRejection('the request was used before');
    }
    const ended = await this.#end(provider, nameId, origin);
    if (facts.logoutResponseUrl === null || provider.saml?.privateKey == null) return null;
    const library = configureNodeSaml(
      provider,
      { ...facts, logoutUrl: facts.logoutResponseUrl },
      { id: `_${randomBytes(20).toString('hex')}` },
    );
    return library.getLogoutResponseUrlAsync({ ID: id }, message.relayState ?? '', {}, ended);
  }

  /** Ends all sessions that the identity opened here. */
  async #end(provider: Provider, nameId: ReturnType<typeof readNameId>, origin: SessionOrigin): Promise<boolean> {
    const { sessionNames, users, sessions } = this.#deps;
    const named = await sessionNames.byName(provider.name, nameId);
    const user = named === null ? null : await users.byIdentity(named.identity);
    if (named === null || user === null) return false;
    await sessions.endByIdentity(
      named.identity,
      user._id,
      'provider-ended',
      changeStampFromOrigin(origin, actorText(user.kind, user._id)),
    );
    return true;
  }

  async #response(
    provider: Provider,
    facts: SamlProviderConfig,
    message: SamlLogoutMessage,
    here: string,
  ): Promise<string> {
    const root = await this.#verified(provider, facts, message);
    checkSamlMessage(root, 'LogoutResponse', here, facts);
    requireOnlyChild(root, 'assertion', 'Issuer');
    const taken = await this.#deps.oneTimeTokens.take('saml-logout', message.relayState ?? '');
    const { provider: name, redirect, state, id } = taken?.facts ?? {};
    if (name !== provider.name || typeof redirect !== 'string' || typeof id !== 'string') {
      throw new SamlRejection('there is no such logout request');
    }
    checkInResponseTo(root, { inResponseTo: id });
    return clientRedirectUrl(redirect, { state: typeof state === 'string' ? state : null, ...outcomeOf(root) });
  }

  /** The root of a message with a valid signature. */
  async #verified(provider: Provider, facts: SamlProviderConfig, { name, text, query }: SamlLogoutMessage) {
    if (query !== null) return readXml(verifyRedirectSignature(query, name, facts.certificates));
    const root = readXml(decodeBase64Xml(text));
    if (findUnverifiedSignedElements(root, [root]).length === 0) throw new SamlRejection('the message is not signed');
    if (readXmlAttribute(root, 'ID') === null) throw new SamlRejection('the message has no ID');
    const library = configureNodeSaml(provider, facts, { signed: { response: true, assertion: false } });
    const verified =
      name === 'SAMLRequest'
        ? library.validatePostRequestAsync({ SAMLRequest: text })
        : library.validatePostResponseAsync({ SAMLResponse: text });
    await verified.catch((error: unknown) => {
      throw new SamlRejection('no known key made the signature', { cause: error });
    });
    return root;
  }
}

/** The client learns that the provider did not end its session; ours has ended. */
function outcomeOf(root: Parameters<typeof checkSamlStatus>[0]): { readonly error?: string } {
  try {
    checkSamlStatus(root);
    return {};
  } catch (error) {
    if (error instanceof SamlStatusError) return { error: 'provider-denied' };
    throw error;
  }
}
