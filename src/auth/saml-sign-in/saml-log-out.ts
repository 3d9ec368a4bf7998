/**
 * Single logout of SAML (SAML Profiles 2.0 section 4.4), both ways: we ask the provider to end its session, or it asks us to
 * end ours. Every message must be signed. Not here: ending our session when we begin (flows/provider-log-out.ts), and HTTP.
 */
import { randomBytes } from 'node:crypto';
import { actorText } from '../../database/system-collection.ts';
import type { Users } from '../accounts/users.ts';
import { endOf } from '../flows/flow-end.ts';
import type { LogOutMessage } from '../flows/provider-log-out.ts';
import { answerRefused } from '../flows/provider-refusal.ts';
import type { Provider } from '../providers/provider.ts';
import { verifiedQuery } from '../saml/query-signature.ts';
import {
  checkAnswered,
  checkIssued,
  checkMessage,
  checkStatus,
  checkTimes,
  readNameId,
  StatusRefused,
} from '../saml/response.ts';
import { idOf, signedOwners } from '../saml/signatures.ts';
import { attributeOf, decodedXml, only, readXml, SamlFault } from '../saml/xml.ts';
import type { SingleUse } from '../sign-in/single-use.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { Sessions } from '../tokens/sessions.ts';
import type { KnownSamlProviders, SamlFacts } from './known-providers.ts';
import { samlLibrary } from './library.ts';
import type { SamlSessionStore } from './saml-session-store.ts';

/** A request is remembered this long, in milliseconds, so that it works once; older ones are refused by their date. */
const REMEMBERED_MS = 3_600_000;

export interface SamlLogOutParts {
  readonly known: KnownSamlProviders;
  readonly sessionNames: SamlSessionStore;
  readonly singleUse: Pick<SingleUse, 'isFirst' | 'make' | 'take'>;
  readonly users: Pick<Users, 'byIdentity'>;
  readonly sessions: Pick<Sessions, 'endOpenedBy'>;
  readonly now: () => number;
}

export class SamlLogOut {
  readonly #parts: SamlLogOutParts;

  constructor(parts: SamlLogOutParts) {
    this.#parts = parts;
  }

  /**
   * Where the browser asks the provider to end its session.
   * @returns null where the provider has no such place, or there is no key to sign with
   * @throws MillraceError `provider-unavailable`, `provider-answer-refused`
   */
  async address(provider: Provider, identity: string, redirect: string, state: string | null): Promise<string | null> {
    const { known, sessionNames, singleUse } = this.#parts;
    const facts = await known.about(provider);
    const session = await sessionNames.newestOf(identity);
    if (facts.logoutUrl === null || provider.saml?.privateKey == null || session === null) return null;
    const id = `_${randomBytes(20).toString('hex')}`;
    const asked = { provider: provider.name, redirect, state, id };
    const relayState = await singleUse.make('saml-logout', null, { facts: asked });
    const { value, format, nameQualifier, spNameQualifier } = session.nameId;
    const user = {
      issuer: facts.issuer,
      nameID: value,
      nameIDFormat: format ?? 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
      ...(nameQualifier === null ? {} : { nameQualifier }),
      ...(spNameQualifier === null ? {} : { spNameQualifier }),
      ...(session.sessionIndex === null ? {} : { sessionIndex: session.sessionIndex }),
    };
    return samlLibrary(provider, facts, { id }).getLogoutUrlAsync(user, relayState, {});
  }

  /**
   * Takes a message of a provider: it asks to log out, or answers that it has.
   * @param here the address that it was sent to
   * @returns where the browser goes; null where nobody waits for an answer
   * @throws MillraceError `provider-unavailable`, `provider-answer-refused`
   */
  async receive(
    provider: Provider,
    message: LogOutMessage,
    here: string,
    origin: SessionOrigin,
  ): Promise<string | null> {
    try {
      const facts = await this.#parts.known.about(provider);
      return message.name === 'SAMLRequest'
        ? await this.#asked(provider, facts, message, here, origin)
        : await this.#answered(provider, facts, message, here);
    } catch (error) {
      if (error instanceof SamlFault) throw answerRefused(provider.name, error.message);
      throw error;
    }
  }

  async #asked(
    provider: Provider,
    facts: SamlFacts,
    message: LogOutMessage,
    here: string,
    origin: SessionOrigin,
  ): Promise<string | null> {
    const { singleUse, now } = this.#parts;
    const root = await this.#verified(provider, facts, message);
    checkMessage(root, 'LogoutRequest', here, facts);
    only(root, 'assertion', 'Issuer');
    checkTimes(root, now());
    checkIssued(root, now());
    const nameId = readNameId(only(root, 'assertion', 'NameID'));
    const id = idOf(root);
    if (!(await singleUse.isFirst(`saml logout ${facts.issuer} ${id}`, REMEMBERED_MS))) {
      throw new SamlFault('the request was used before');
    }
    const ended = await this.#end(provider, nameId, origin);
    if (facts.logoutAnswerUrl === null || provider.saml?.privateKey == null) return null;
    const library = samlLibrary(
      provider,
      { ...facts, logoutUrl: facts.logoutAnswerUrl },
      { id: `_${randomBytes(20).toString('hex')}` },
    );
    return library.getLogoutResponseUrlAsync({ ID: id }, message.relayState ?? '', {}, ended);
  }

  /** Ends all sessions that the identity opened here. */
  async #end(provider: Provider, nameId: ReturnType<typeof readNameId>, origin: SessionOrigin): Promise<boolean> {
    const { sessionNames, users, sessions } = this.#parts;
    const named = await sessionNames.byName(provider.name, nameId);
    const user = named === null ? null : await users.byIdentity(named.identity);
    if (named === null || user === null) return false;
    await sessions.endOpenedBy(
      named.identity,
      user._id,
      'provider-ended',
      stampOf(origin, actorText(user.kind, user._id)),
    );
    return true;
  }

  async #answered(provider: Provider, facts: SamlFacts, message: LogOutMessage, here: string): Promise<string> {
    const root = await this.#verified(provider, facts, message);
    checkMessage(root, 'LogoutResponse', here, facts);
    only(root, 'assertion', 'Issuer');
    const taken = await this.#parts.singleUse.take('saml-logout', message.relayState ?? '');
    const { provider: name, redirect, state, id } = taken?.facts ?? {};
    if (name !== provider.name || typeof redirect !== 'string' || typeof id !== 'string') {
      throw new SamlFault('nobody here asked to log out so');
    }
    checkAnswered(root, { inResponseTo: id });
    return endOf(redirect, { state: typeof state === 'string' ? state : null, ...outcomeOf(root) });
  }

  /** The root of a message whose signature is good. */
  async #verified(provider: Provider, facts: SamlFacts, { name, text, query }: LogOutMessage) {
    if (query !== null) return readXml(verifiedQuery(query, name, facts.certificates));
    const root = readXml(decodedXml(text));
    if (signedOwners(root, [root]).length === 0) throw new SamlFault('the message is not signed');
    if (attributeOf(root, 'ID') === null) throw new SamlFault('the message has no ID');
    const library = samlLibrary(provider, facts, { signed: { response: true, assertion: false } });
    const verified =
      name === 'SAMLRequest'
        ? library.validatePostRequestAsync({ SAMLRequest: text })
        : library.validatePostResponseAsync({ SAMLResponse: text });
    await verified.catch((error: unknown) => {
      throw new SamlFault('no known key made the signature', { cause: error });
    });
    return root;
  }
}

/** The client is told where the provider did not end its session; ours has ended. */
function outcomeOf(root: Parameters<typeof checkStatus>[0]): { readonly error?: string } {
  try {
    checkStatus(root);
    return {};
  } catch (error) {
    if (error instanceof StatusRefused) return { error: 'provider-denied' };
    throw error;
  }
}
