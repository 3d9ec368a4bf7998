/** Validates the fields of a SAML provider as an administrator wrote them. */
import { MillraceError } from '../../lib/errors.ts';
import { certificateIssue, isCertificateOf, isSamlKey } from './certificates.ts';
import type { ProviderBody } from './provider-schema.ts';

/** @returns JSON Pointers, each with the error as the end of a sentence */
export function samlIssues(
  saml: NonNullable<ProviderBody['saml']>,
  privateKey: string | undefined,
): readonly (readonly [pointer: string, detail: string])[] {
  const issues: [string, string][] = [];
  const { metadata, metadataUrl, certificates = [], certificate } = saml;
  if (metadata !== undefined && metadataUrl !== undefined) {
    issues.push(['/saml/metadata', "cannot be given together with 'metadataUrl'"]);
  }
  if (metadata === undefined && metadataUrl === undefined) {
    for (const needed of ['issuer', 'entryPoint', 'certificates'] as const) {
      if (!(needed in saml)) issues.push([`/saml/${needed}`, 'is required where there is no metadata']);
    }
  }
  for (const [index, text] of certificates.entries()) {
    const issue = certificateIssue(text);
    if (issue !== null) issues.push([`/saml/certificates/${index}`, issue]);
  }
  if (certificate !== undefined) {
    const issue = certificateIssue(certificate);
    if (issue !== null) issues.push(['/saml/certificate', issue]);
  }
  const hasKey = privateKey !== undefined;
  if (hasKey && !isSamlKey(privateKey))
    issues.push(['/privateKey', 'must be an RSA key of at least 2048 bits, as PEM']);
  else if (hasKey !== (certificate !== undefined)) {
    issues.push([hasKey ? '/saml/certificate' : '/privateKey', 'is required: key and certificate come together']);
  } else if (hasKey && certificate !== undefined && issues.length === 0 && !isCertificateOf(certificate, privateKey)) {
    issues.push(['/saml/certificate', 'is of another key than privateKey']);
  }
  return issues;
}

/**
 * Parses the metadata that an administrator sent, and checks the URLs in it like those that administrators write
 * themselves.
 * @param checkUrl the error of a URL of the provider; null for none
 * @throws MillraceError `invalid-body` if it contains no provider, or one of its URLs cannot be used
 */
export async function checkSamlMetadata(
  { saml }: Pick<ProviderBody, 'saml'>,
  checkUrl: (url: string) => string | null,
): Promise<void> {
  if (saml?.metadata === undefined) return;
  const { readSamlMetadata, resolveSamlEndpoints: usedResources } = await import('../saml/provider-metadata.ts');
  const { SamlRejection: SamlError } = await import('../saml/xml.ts');
  try {
    const { binding, entryPoint, urls } = usedResources(saml, readSamlMetadata(saml.metadata, saml.issuer));
    if (entryPoint === null) throw new SamlError(`has no URL for sign-ins by ${binding}`);
    for (const url of urls) {
      const issue = checkUrl(url);
      if (issue !== null) throw new SamlError(`has the URL ${url.slice(0, 120)}, which ${issue}`);
    }
  } catch (error) {
    if (!(error instanceof SamlError)) throw error;
    const pointer = '/saml/metadata';
    throw new MillraceError('invalid-body', `The provider is not valid: ${pointer} ${error.message}`, {
      issues: [{ pointer, code: 'invalid-body', detail: error.message }],
    });
  }
}
