/**
 * The user of a SAML assertion: the subject, and the attributes as claims, so that mapping, roles and restrictions work
 * as with OpenID Connect. Pure.
 */
import { readEmailClaim, type VerifiedIdentity } from '../oauth/verified-identity.ts';
import type { Provider } from '../providers/provider.ts';
import type { SamlAssertion } from './response-checks.ts';
import { SamlRejection } from './xml.ts';

const FORMAT = 'urn:oasis:names:tc:SAML:';
const TRANSIENT = `${FORMAT}2.0:nameid-format:transient`;
const EMAIL_FORMAT = `${FORMAT}1.1:nameid-format:emailAddress`;
const SOAP = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims';
/** Standard names of attributes for the claims `email` and `name`. The first existing one counts. */
const COMMON = {
  email: ['email', 'mail', 'urn:oid:0.9.2342.19200300.100.1.3', `${SOAP}/emailaddress`],
  name: ['name', 'displayName', 'urn:oid:2.16.840.1.113730.3.1.241', 'cn', 'urn:oid:2.5.4.3', `${SOAP}/name`],
} as const;

/** @throws SamlRejection if the assertion has no permanent id of a user */
export function samlUser({ saml }: Pick<Provider, 'saml'>, assertion: SamlAssertion): VerifiedIdentity {
  const { nameId, attributes } = assertion;
  const first = (names: readonly string[]) => names.flatMap((name) => attributes.get(name)?.[0] ?? [])[0];
  const email = first(COMMON.email) ?? (nameId.format === EMAIL_FORMAT ? nameId.value : undefined);
  const name = first(COMMON.name);
  const claims = {
    ...Object.fromEntries([...attributes].map(([key, values]) => [key, values.length === 1 ? values[0] : values])),
    ...(email === undefined ? {} : { email }),
    ...(name === undefined ? {} : { name }),
    nameId: nameId.value,
    nameIdFormat: nameId.format ?? '',
  };
  return { subject: subjectOf(saml?.subject, assertion), claims, email: readEmailClaim(claims) };
}

function subjectOf(attribute: string | undefined, { nameId, attributes }: SamlAssertion): string {
  if (attribute === undefined) {
    if (nameId.format !== TRANSIENT) return nameId.value;
    throw new SamlRejection("the NameID is another one each time (transient): set an attribute in 'saml.subject'");
  }
  const [subject, second] = attributes.get(attribute) ?? [];
  if (subject !== undefined && second === undefined) return subject;
  throw new SamlRejection(`the attribute '${attribute.slice(0, 80)}' does not contain one subject`);
}
