/**
 * Sign-in and logout with a real Keycloak in a real browser, set up by docs/saml.md and docs/providers.md. It runs
 * where MILLRACE_TEST_KEYCLOAK is the folder of a Keycloak (tested with 26.7.3), which takes a minute to start.
 */
import t from 'tap';
import { findFreePort } from '../../../src/database/embedded/port.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { startKeycloak, whyNoKeycloak } from '../../helpers/saml/keycloak.ts';
import { ask } from '../../helpers/users.ts';

const PASSWORD = 'six green lamps glow';
const skip = whyNoBrowser() ?? whyNoKeycloak() ?? false;

t.test('Keycloak', { skip, timeout: 600_000 }, async (t) => {
  const keycloak = await startKeycloak(t);
  const port = await findFreePort();
  const url = `http://localhost:${port}`;
  const { app, services } = await buildTestApp(t, {
    MILLRACE_PUBLIC_URL: url,
    MILLRACE_REDIRECT_URLS: `${url}/signin`,
  });
  await app.listen({ host: '127.0.0.1', port });
  const boss = { headers: { authorization: '', ...speakingAs(services)(owner()) } };
  const entity = `${url}/auth/saml/staff/metadata`;
  const own = samlKeys();

  await keycloak.post('', { realm: 'staff', enabled: true });
  await keycloak.post('/staff/groups', { name: 'editors' });
  for (const username of ['ada', 'grace']) {
    await keycloak.post('/staff/users', {
      username,
      email: `${username}@example.org`,
      emailVerified: true,
      firstName: username,
      lastName: 'of the tests',
      enabled: true,
      groups: ['editors'],
      credentials: [{ type: 'password', value: PASSWORD, temporary: false }],
    });
  }
  const certificate = own.certificate.replace(/-----.*-----|\s/g, '');
  await keycloak.post('/staff/clients', {
    protocol: 'saml',
    clientId: entity,
    redirectUris: [`${url}/auth/saml/staff/acs`],
    frontchannelLogout: true,
    attributes: {
      saml_name_id_format: 'persistent',
      saml_force_name_id_format: 'true',
      'saml.server.signature': 'true',
      'saml.assertion.signature': 'true',
      'saml.authnstatement': 'true',
      'saml.signature.algorithm': 'RSA_SHA256',
      saml_signature_canonicalization_method: 'http://www.w3.org/2001/10/xml-exc-c14n#',
      'saml.client.signature': 'true',
      'saml.signing.certificate': certificate,
      'saml.encrypt': 'true',
      'saml.encryption.certificate': certificate,
      'saml.encryption.algorithm': 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
      'saml.encryption.keyAlgorithm': 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
      'saml.encryption.digestMethod': 'http://www.w3.org/2000/09/xmldsig#sha1',
      saml_assertion_consumer_url_post: `${url}/auth/saml/staff/acs`,
      saml_single_logout_service_url_redirect: `${url}/auth/saml/staff/slo`,
      saml_idp_initiated_sso_url_name: 'millrace',
    },
    protocolMappers: [
      {
        name: 'email',
        protocol: 'saml',
        protocolMapper: 'saml-user-property-mapper',
        config: { 'user.attribute': 'email', 'attribute.name': 'email', 'attribute.nameformat': 'Basic' },
      },
      {
        name: 'groups',
        protocol: 'saml',
        protocolMapper: 'saml-group-membership-mapper',
        config: { 'attribute.name': 'groups', 'attribute.nameformat': 'Basic', single: 'true', 'full.path': 'false' },
      },
    ],
  });
  await keycloak.post('/staff/clients', {
    protocol: 'openid-connect',
    clientId: 'millrace',
    publicClient: false,
    secret: PASSWORD,
    standardFlowEnabled: true,
    directAccessGrantsEnabled: false,
    redirectUris: [`${url}/auth/providers/keycloak/callback`],
    attributes: { 'pkce.code.challenge.method': 'S256' },
    protocolMappers: [
      {
        name: 'groups',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-group-membership-mapper',
        config: {
          'claim.name': 'groups',
          'full.path': 'false',
          'id.token.claim': 'true',
          'access.token.claim': 'true',
          'userinfo.token.claim': 'true',
        },
      },
    ],
  });
  const usual = {
    mapping: { roles: { claim: 'groups', values: { editors: ['editor'] } }, when: 'each' },
    register: true,
  };
  const providers = [
    {
      ...usual,
      name: 'staff',
      kind: 'saml',
      clientId: entity,
      privateKey: own.privateKey,
      saml: {
        metadataUrl: `${keycloak.origin}/realms/staff/protocol/saml/descriptor`,
        certificate: own.certificate,
        allowIdpInitiated: true,
      },
    },
    {
      ...usual,
      name: 'keycloak',
      kind: 'oidc',
      clientId: 'millrace',
      clientSecret: PASSWORD,
      issuer: `${keycloak.origin}/realms/staff`,
    },
  ];
  for (const provider of providers) {
    const created = await ask(app, 'POST /admin/providers', provider, boss);
    t.equal(created.statusCode, 201, created.body);
    const check = await ask(app, `POST /admin/providers/${provider.name}/check`, undefined, boss);
    t.equal(check.json().passed, true, check.body);
  }

  const browser = await testBrowser(t);
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const giveName = async (name = 'ada') => {
    await page.locator('#username').fill(name);
    await page.locator('#password').fill(PASSWORD);
    await page.locator('#kc-login').click();
  };
  /** Waits for the end of a sign-in. */
  const entered = async (begin: () => Promise<unknown>) => {
    const [response] = await Promise.all([
      page.waitForResponse((one) => one.url().endsWith('/auth/exchange')),
      begin(),
    ]);
    const { user, accessToken } = await response.json();
    await page.getByText(`You are signed in as ${user.email}.`).waitFor();
    return { user, session: { headers: { authorization: `Bearer ${accessToken}` } } };
  };
  const press = async (name: string) => {
    await page.goto(`${url}/signin`);
    await page.getByRole('button', { name: `Sign in with ${name}` }).click();
  };
  let id = '';

  await t.test('sign-in and logout with Keycloak by SAML, started here', async (t) => {
    const { user, session } = await entered(() => press('staff').then(() => giveName()));
    t.match(user, { email: 'ada@example.org', emailVerified: false, roles: ['editor'] });
    id = user.id;
    const out = await ask(app, 'POST /auth/logout/provider', { redirect: `${url}/signin` }, session);
    await page.goto(out.json().url);
    t.equal(page.url(), `${url}/signin#`);
    t.equal((await ask(app, 'GET /auth/me', undefined, session)).statusCode, 401);
    await press('staff');
    await page.locator('#username').waitFor();
  });

  await t.test('sign-in and logout with Keycloak by SAML, started at Keycloak', async (t) => {
    const portal = `${keycloak.origin}/realms/staff/protocol/saml/clients/millrace`;
    const { user, session } = await entered(() => page.goto(portal).then(() => giveName()));
    t.equal(user.id, id, 'the same account, and no further click');
    await page.goto(`${keycloak.origin}/realms/staff/protocol/openid-connect/logout`);
    await page.locator('#kc-logout').click();
    await page.getByRole('heading', { name: 'You are logged out' }).waitFor();
    t.equal((await ask(app, 'GET /auth/me', undefined, session)).statusCode, 401);
  });

  await t.test('sign-in with Keycloak by OpenID Connect', async (t) => {
    const { user } = await entered(() => press('keycloak').then(() => giveName('grace')));
    t.match(user, { email: 'grace@example.org', emailVerified: true, roles: ['editor'] });
  });
});
