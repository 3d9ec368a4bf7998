/**
 * What is wrong with the members of a SAML provider as an owner wrote them. Not here: reading its metadata
 * (saml/provider-metadata.ts), which is loaded when there is some.
 */
import { MillraceError } from '../../kernel/errors.ts';
import { certificateFault, isCertificateOf, isSamlKey } from '../saml/certificates.ts';
import type { ProviderBody } from './provider-schema.ts';

/** @returns places, and what is wrong there as the end of a sentence */
export function samlFaults(
  saml: NonNullable<ProviderBody['saml']>,
  privateKey: string | undefined,
): readonly (readonly [pointer: string, detail: string])[] {
  const faults: [string, string][] = [];
  const { metadata, metadataUrl, certificates = [], certificate } = saml;
  if (metadata !== undefined && metadataUrl !== undefined) {
    faults.push(['/saml/metadata', "cannot be given together with 'metadataUrl'"]);
  }
  if (metadata === undefined && metadataUrl === undefined) {
    for (const needed of ['issuer', 'entryPoint', 'certificates'] as const) {
      if (!(needed in saml)) faults.push([`/saml/${needed}`, 'is required where there is no metadata']);
    }
  }
  for (const [index, text] of certificates.entries()) {
    const fault = certificateFault(text);
    if (fault !== null) faults.push([`/saml/certificates/${index}`, fault]);
  }
  if (certificate !== undefined) {
    const fault = certificateFault(certificate);
    if (fault !== null) faults.push(['/saml/certificate', fault]);
  }
  const hasKey = privateKey !== undefined;
  if (hasKey && !isSamlKey(privateKey))
    faults.push(['/privateKey', 'must be an RSA key of at least 2048 bits, as PEM']);
  else if (hasKey !== (certificate !== undefined)) {
    faults.push([hasKey ? '/saml/certificate' : '/privateKey', 'is required: key and certificate come together']);
  } else if (hasKey && certificate !== undefined && faults.length === 0 && !isCertificateOf(certificate, privateKey)) {
    faults.push(['/saml/certificate', 'is of another key than privateKey']);
  }
  return faults;
}

/**
 * Reads the metadata that an owner sent, and judges the URLs in it as those that owners write themselves.
 * @param checkUrl what is wrong with a URL of the provider; null for nothing
 * @throws MillraceError `invalid-body` where no provider can be read from it, or one of its URLs cannot be used
 */
export async function checkWrittenMetadata(
  { saml }: Pick<ProviderBody, 'saml'>,
  checkUrl: (url: string) => string | null,
): Promise<void> {
  if (saml?.metadata === undefined) return;
  const { readSamlMetadata, usedPlaces } = await import('../saml/provider-metadata.ts');
  const { SamlFault } = await import('../saml/xml.ts');
  try {
    const { binding, entryPoint, urls } = usedPlaces(saml, readSamlMetadata(saml.metadata, saml.issuer));
    if (entryPoint === null) throw new SamlFault(`names no URL for sign-ins by ${binding}`);
    for (const url of urls) {
      const fault = checkUrl(url);
      if (fault !== null) throw new SamlFault(`names the URL ${url.slice(0, 120)}, which ${fault}`);
    }
  } catch (error) {
    if (!(error instanceof SamlFault)) throw error;
    const pointer = '/saml/metadata';
    throw new MillraceError('invalid-body', `The provider is not as expected: ${pointer} ${error.message}`, {
      faults: [{ pointer, code: 'invalid-body', detail: error.message }],
    });
  }
}
