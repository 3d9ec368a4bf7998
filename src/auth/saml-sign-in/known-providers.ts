/**
 * What is known of each SAML provider: what an owner wrote, completed by its metadata, which is read through the guard of
 * outgoing calls and again every 15 minutes. Where it cannot be read again, what was read before counts for a day, unless it
 * says itself that it ends earlier.
 */
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { answerRefused, providerUnavailable } from '../flows/provider-refusal.ts';
import type { Provider } from '../providers/provider.ts';
import { usableCertificates } from '../saml/certificates.ts';
import { readSamlMetadata, type SamlMetadata, usedPlaces } from '../saml/provider-metadata.ts';
import { SamlFault, utf8 } from '../saml/xml.ts';

const METADATA_MS = 15 * 60_000;
/** So long metadata counts that cannot be read again. */
const KEPT_MS = 24 * 3_600_000;
/** Metadata is read again for an unknown key at most once in this time. */
const PAUSE_MS = 60_000;
const LIMITS = { timeoutMs: 10_000, maxBytes: 1_048_576 } as const;

/** A provider as a sign-in uses it. */
export interface SamlFacts {
  /** Its entity id. */
  readonly issuer: string;
  readonly entryPoint: string;
  readonly binding: 'redirect' | 'post';
  readonly logoutUrl: string | null;
  readonly logoutAnswerUrl: string | null;
  /** Those that may be used now, as PEM. */
  readonly certificates: readonly string[];
  readonly wantsSigned: boolean;
}

interface Read {
  readonly metadata: SamlMetadata;
  /** When it was read, in milliseconds since 1970. */
  readonly at: number;
  /** From when on it is read again. */
  readonly staleAt: number;
}

export class KnownSamlProviders {
  readonly #egress: Pick<Egress, 'fetch' | 'checkUrl'>;
  readonly #now: () => number;
  /** It goes when its version of the provider goes. */
  readonly #read = new WeakMap<Provider, Read>();
  /** What is being read: sign-ins at the same time share it. */
  readonly #reading = new WeakMap<Provider, Promise<SamlMetadata>>();

  constructor(egress: Pick<Egress, 'fetch' | 'checkUrl'>, now: () => number) {
    this.#egress = egress;
    this.#now = now;
  }

  /** @throws MillraceError `provider-unavailable`, `provider-answer-refused` */
  async about(provider: Provider): Promise<SamlFacts> {
    const { name } = provider;
    try {
      return this.#facts(provider, await this.#metadata(provider));
    } catch (error) {
      if (error instanceof EgressError) throw providerUnavailable(name, error.message);
      if (error instanceof SamlFault) throw answerRefused(name, error.message);
      throw error;
    }
  }

  /** Lets metadata be read again at once: a signature is by a key that it does not name. @returns false where that is no use */
  readAgain(provider: Provider): boolean {
    const before = this.#read.get(provider);
    if (before === undefined || this.#now() - before.at < PAUSE_MS || provider.saml?.metadataUrl === undefined) {
      return false;
    }
    this.#read.set(provider, { ...before, staleAt: 0 });
    return true;
  }

  async #metadata(provider: Provider): Promise<SamlMetadata | null> {
    const { metadata: text, metadataUrl } = provider.saml ?? {};
    if (text === undefined && metadataUrl === undefined) return null;
    const [before, now] = [this.#read.get(provider), this.#now()];
    if (before !== undefined && (text !== undefined || now < before.staleAt)) return before.metadata;
    const reading = this.#reading.get(provider) ?? this.#readNow(provider, now);
    this.#reading.set(provider, reading);
    try {
      return await reading;
    } catch (error) {
      const isKnown = error instanceof EgressError || error instanceof SamlFault;
      if (before === undefined || !isKnown || now - before.at > KEPT_MS) throw error;
      this.#read.set(provider, { ...before, staleAt: now + PAUSE_MS });
      return before.metadata;
    } finally {
      this.#reading.delete(provider);
    }
  }

  async #readNow(provider: Provider, now: number): Promise<SamlMetadata> {
    const { metadata: text, metadataUrl = '', issuer } = provider.saml ?? {};
    const metadata = readSamlMetadata(text ?? (await this.#fetched(metadataUrl)), issuer);
    this.#read.set(provider, { metadata, at: now, staleAt: now + METADATA_MS });
    return metadata;
  }

  async #fetched(url: string): Promise<string> {
    const answer = await this.#egress.fetch(url, { headers: { accept: 'application/samlmetadata+xml, */*' } }, LIMITS);
    if (answer.status !== 200) throw new SamlFault(`the metadata was answered with status ${answer.status}`);
    return utf8(await answer.bytes());
  }

  #facts({ saml }: Provider, metadata: SamlMetadata | null): SamlFacts {
    const now = this.#now();
    if (metadata?.validUntil != null && metadata.validUntil <= now) throw new SamlFault('the metadata has expired');
    const { binding, entryPoint, logoutUrl, logoutAnswerUrl, urls } = usedPlaces(saml, metadata);
    const issuer = saml?.issuer ?? metadata?.issuer;
    if (entryPoint === null || issuer === undefined) {
      throw new SamlFault(`the metadata names no place for sign-ins by ${binding}`);
    }
    for (const url of urls) {
      const fault = this.#egress.checkUrl(url);
      if (fault !== null) throw new SamlFault(`the URL ${url.slice(0, 120)} of its metadata ${fault}`);
    }
    const certificates = usableCertificates([...(saml?.certificates ?? []), ...(metadata?.certificates ?? [])], now);
    if (certificates.length === 0) throw new SamlFault('no certificate of the provider may be used today');
    const wantsSigned = metadata?.wantsSigned ?? false;
    return { issuer, entryPoint, binding, logoutUrl, logoutAnswerUrl, certificates, wantsSigned };
  }
}
