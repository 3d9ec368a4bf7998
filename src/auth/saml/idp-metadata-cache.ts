/**
 * The data of each SAML provider: what an administrator wrote, completed by its metadata, which is read through the
 * checks of outgoing calls every 15 minutes. If it becomes unreachable, the last one is valid for a day, unless it
 * expires earlier.
 */
import type { Egress } from '../../egress/egress.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { providerResponseInvalid, providerUnavailable } from '../oauth/provider-errors.ts';
import { usableCertificates } from '../providers/certificates.ts';
import type { Provider } from '../providers/provider.ts';
import { readSamlMetadata, resolveSamlEndpoints, type SamlMetadata } from './provider-metadata.ts';
import { decodeUtf8, SamlRejection } from './xml.ts';

const METADATA_MS = 15 * 60_000;
/** How long metadata is valid that cannot be read again. */
const RETENTION_MS = 24 * 3_600_000;
/** Minimum interval between reads of metadata for an unknown key. */
const PAUSE_MS = 60_000;
const LIMITS = { timeoutMs: 10_000, maxBytes: 1_048_576 } as const;

/** A provider as a sign-in uses it. */
export interface SamlProviderConfig {
  /** Its entity id. */
  readonly issuer: string;
  readonly entryPoint: string;
  readonly binding: 'redirect' | 'post';
  readonly logoutUrl: string | null;
  readonly logoutResponseUrl: string | null;
  /** The certificates that are valid now, as PEM. */
  readonly certificates: readonly string[];
  readonly wantsSigned: boolean;
}

interface Read {
  readonly metadata: SamlMetadata;
  /** When it was read, in milliseconds since 1970. */
  readonly at: number;
  /** When it is due to be read again. */
  readonly staleAt: number;
}

export class SamlMetadataCache {
  readonly #egress: Pick<Egress, 'fetch' | 'checkUrl'>;
  readonly #now: () => number;
  /** Dropped with its version of the provider. */
  readonly #read = new WeakMap<Provider, Read>();
  /** Reads in progress, which concurrent sign-ins share. */
  readonly #reading = new WeakMap<Provider, Promise<SamlMetadata>>();

  constructor(egress: Pick<Egress, 'fetch' | 'checkUrl'>, now: () => number) {
    this.#egress = egress;
    this.#now = now;
  }

  /** @throws MillraceError `provider-unavailable`, `provider-response-invalid` */
  async about(provider: Provider): Promise<SamlProviderConfig> {
    const { name } = provider;
    try {
      return this.#facts(provider, await this.#metadata(provider));
    } catch (error) {
      if (error instanceof EgressError) throw providerUnavailable(name, error.message);
      if (error instanceof SamlRejection) throw providerResponseInvalid(name, error.message);
      throw error;
    }
  }

  /**
   * Allows an immediate read of the metadata, for a signature by an unknown key. @returns false where that is of no use
   */
  allowReload(provider: Provider): boolean {
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
      const isKnown = error instanceof EgressError || error instanceof SamlRejection;
      if (before === undefined || !isKnown || now - before.at > RETENTION_MS) throw error;
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
    const response = await this.#egress.fetch(
      url,
      { headers: { accept: 'application/samlmetadata+xml, */*' } },
      LIMITS,
    );
    if (response.status !== 200) throw new SamlRejection(`the metadata request returned status ${response.status}`);
    return decodeUtf8(await response.bytes());
  }

  #facts({ saml }: Provider, metadata: SamlMetadata | null): SamlProviderConfig {
    const now = this.#now();
    if (metadata?.validUntil != null && metadata.validUntil <= now) throw new SamlRejection('the metadata has expired');
    const { binding, entryPoint, logoutUrl, logoutResponseUrl, urls } = resolveSamlEndpoints(saml, metadata);
    const issuer = saml?.issuer ?? metadata?.issuer;
    if (entryPoint === null || issuer === undefined) {
      throw new SamlRejection(`the metadata has no URL for sign-ins by ${binding}`);
    }
    for (const url of urls) {
      const issue = this.#egress.checkUrl(url);
      if (issue !== null) throw new SamlRejection(`the URL ${url.slice(0, 120)} of its metadata ${issue}`);
    }
    const certificates = usableCertificates([...(saml?.certificates ?? []), ...(metadata?.certificates ?? [])], now);
    if (certificates.length === 0) throw new SamlRejection('no certificate of the provider is valid today');
    const wantsSigned = metadata?.wantsSigned ?? false;
    return { issuer, entryPoint, binding, logoutUrl, logoutResponseUrl, certificates, wantsSigned };
  }
}
