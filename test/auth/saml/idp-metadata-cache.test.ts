/** When the metadata of a SAML provider is read again, and how long it is valid where it cannot be. */
import t from 'tap';
import { toProvider } from '../../../src/auth/providers/provider.ts';
import { SamlMetadataCache } from '../../../src/auth/saml/idp-metadata-cache.ts';
import { EgressError } from '../../../src/egress/egress-error.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';

const MINUTE = 60_000;
const ADDRESS = 'https://login.example.org/metadata';
const { certificate } = samlKeys({ from: -10, until: 10 });

function metadata(more = ''): string {
  const text = certificate.replace(/-----.*-----/g, '');
  return (
    `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://login.example.org"${more}>` +
    '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><md:KeyDescriptor>' +
    '<ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data><ds:X509Certificate>' +
    `${text}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor><md:SingleSignOnService ` +
    'Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST" Location="https://login.example.org/sso"/>' +
    '</md:IDPSSODescriptor></md:EntityDescriptor>'
  );
}

function fixture() {
  const written = { name: 'acme', kind: 'saml', clientId: 'us', saml: { metadataUrl: ADDRESS } } as const;
  const state = { now: Date.now(), requested: 0, text: metadata(), isDown: false };
  const fetch = async () => {
    state.requested += 1;
    if (state.isDown) throw new EgressError('unreachable', 'It does not answer');
    return new Response(state.text);
  };
  const known = new SamlMetadataCache({ fetch, checkUrl: () => null }, () => state.now);
  return { state, known, provider: toProvider(written, {}, '1') };
}

t.test('SAML metadata is read again every 15 minutes, and for an unknown key after one', async (t) => {
  const { state, known, provider } = fixture();
  await Promise.all(Array.from({ length: 20 }, () => known.about(provider)));
  t.equal(state.requested, 1, 'once for all that sign in at the same time');
  t.match(await known.about(provider), { issuer: 'https://login.example.org', binding: 'post', logoutUrl: null });
  state.now += 14 * MINUTE;
  await known.about(provider);
  t.equal(state.requested, 1);
  state.now += MINUTE;
  await known.about(provider);
  t.equal(state.requested, 2);
  t.notOk(known.allowReload(provider), 'not twice within a minute');
  state.now += MINUTE;
  t.ok(known.allowReload(provider));
  await known.about(provider);
  t.equal(state.requested, 3);
});

t.test('SAML metadata is valid for a day where it cannot be read, and is not requested all the time', async (t) => {
  const { state, known, provider } = fixture();
  await known.about(provider);
  Object.assign(state, { now: state.now + 16 * MINUTE, isDown: true });
  await known.about(provider);
  await known.about(provider);
  t.equal(state.requested, 2);
  state.now += 24 * 60 * MINUTE;
  await t.rejects(known.about(provider), { code: 'provider-unavailable' });
  state.isDown = false;
  t.ok(await known.about(provider));
});

t.test('SAML metadata ends at its own expiry, and at that of its certificates', async (t) => {
  const { state, known, provider } = fixture();
  state.text = metadata(` validUntil="${new Date(state.now + MINUTE).toISOString()}"`);
  await known.about(provider);
  state.now += 2 * MINUTE;
  await t.rejects(known.about(provider), { cause: { message: /has expired/ } });
  const other = fixture();
  await other.known.about(other.provider);
  other.state.now += 11 * 24 * 60 * MINUTE;
  await t.rejects(other.known.about(other.provider), { cause: { message: /no certificate/ } });
});
