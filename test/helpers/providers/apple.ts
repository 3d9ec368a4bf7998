/**
 * A stand-in for Sign in with Apple, from its documentation: the client secret is a JWT that is verified with the
 * public key, the response is posted by a form to the callback from another site, the name is sent the first time only
 * and in a field of that form, `email_verified` is a text, and there is neither user info nor PKCE.
 */
import { createHash, generateKeyPairSync } from 'node:crypto';
import { exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import type { Test } from 'tap';
import { Codes, type Granted } from './codes.ts';
import { formPage, type Received, type Reply, type Site, startSite } from './site.ts';

export interface AppleUser {
  readonly sub: string;
  readonly email: string;
  readonly isPrivateEmail: boolean;
  readonly name: { readonly firstName: string; readonly lastName: string };
}

export interface Apple extends Site {
  readonly issuer: string;
  readonly clientId: string;
  readonly teamId: string;
  readonly keyId: string;
  /** The file AuthKey_….p8 that can be downloaded from Apple once. */
  readonly privateKey: string;
  /** Users by their login. */
  readonly users: Map<string, AppleUser>;
}

/** The longest life of a client secret, in seconds: six months. */
const MAX_SECRET_AGE_S = 15_777_000;

export async function startApple(t: Test): Promise<Apple> {
  const [clientId, teamId, keyId] = ['org.example.web', 'TEAM123456', 'KEY1234567'];
  const owner = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signing = await generateKeyPair('RS256', { extractable: true });
  const kid = crypto.randomUUID();
  const codes = new Codes();
  const users = new Map<string, AppleUser>();
  /** Users that have allowed the app before; Apple sends their name only once. */
  const known = new Set<string>();

  const site: Site = await startSite(t, async (request) => {
    const route = `${request.method} ${request.url.pathname}`;
    if (route === 'GET /.well-known/openid-configuration') return { body: discovery(site.origin) };
    if (route === 'GET /auth/keys') {
      return { body: { keys: [{ ...(await exportJWK(signing.publicKey)), kid, alg: 'RS256', use: 'sig' }] } };
    }
    if (route === 'GET /auth/authorize') return authorize(request.url.searchParams);
    if (route === 'POST /auth/authorize') return decide(request.form);
    if (route === 'POST /auth/token') return token(request);
    return null;
  });

  function authorize(requested: URLSearchParams): Reply {
    if (requested.get('client_id') !== clientId) return { status: 400, body: 'invalid_client' };
    if (requested.get('scope') && requested.get('response_mode') !== 'form_post') {
      return {
        status: 400,
        body: 'invalid_request: response_mode must be form_post when name or email scope is requested',
      };
    }
    return formPage('Sign in with Apple', '/auth/authorize', Object.fromEntries(requested), {
      requested: ['login'],
      buttons: { deny: 'Cancel' },
    });
  }

  function decide(form: URLSearchParams): Reply {
    const state = form.get('state') ?? '';
    const back = form.get('redirect_uri') ?? '';
    if (form.has('deny')) return formPage('', back, { state, error: 'user_cancelled_authorize' }, { submits: true });
    const login = form.get('login') ?? '';
    const user = users.get(login);
    if (user === undefined) return { status: 403, body: 'Your Apple Account or password was incorrect.' };
    const first = !known.has(login);
    known.add(login);
    const named = first && (form.get('scope') ?? '').includes('name');
    const fields = {
      state,
      code: codes.grant(withoutPkce(form), login),
      ...(named ? { user: JSON.stringify({ name: user.name, email: user.email }) } : {}),
    };
    return formPage('', back, fields, { submits: true });
  }

  async function token({ form }: Received): Promise<Reply> {
    const refusal = await secretIssue(form.get('client_secret') ?? '');
    if (form.get('client_id') !== clientId || refusal !== null) {
      return { status: 400, body: { error: 'invalid_client', error_description: refusal ?? 'client_id' } };
    }
    const granted = codes.redeem(withoutPkce(form), clientId);
    const user = typeof granted === 'string' ? undefined : users.get(granted.login);
    if (typeof granted === 'string' || user === undefined) return { status: 400, body: { error: 'invalid_grant' } };
    const accessToken = crypto.randomUUID();
    return {
      body: {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: 3_600,
        refresh_token: crypto.randomUUID(),
        id_token: await idToken(granted, user, accessToken),
      },
    };
  }

  /** What is wrong with a client secret; null when it complies with Apple's page "Creating a client secret". */
  async function secretIssue(secret: string): Promise<string | null> {
    try {
      const { payload, protectedHeader } = await jwtVerify(secret, owner.publicKey, {
        algorithms: ['ES256'],
        issuer: teamId,
        subject: clientId,
        audience: site.origin,
        requiredClaims: ['iat', 'exp'],
      });
      if (protectedHeader.kid !== keyId) return 'kid';
      return Number(payload.exp) > Date.now() / 1_000 + MAX_SECRET_AGE_S ? 'exp is more than six months away' : null;
    } catch (error) {
      return String(error);
    }
  }

  function idToken({ nonce, scopes }: Granted, user: AppleUser, accessToken: string): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    return new SignJWT({
      iss: site.origin,
      aud: clientId,
      sub: user.sub,
      iat: now,
      exp: now + 86_400,
      auth_time: now,
      nonce_supported: true,
      at_hash: createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
      ...(nonce === null ? {} : { nonce }),
      ...(scopes.includes('email')
        ? { email: user.email, email_verified: 'true', is_private_email: String(user.isPrivateEmail) }
        : {}),
    })
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(signing.privateKey);
  }

  const privateKey = String(owner.privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return { ...site, issuer: site.origin, clientId, teamId, keyId, privateKey, users };
}

/** PKCE is ignored, as Apple does. */
function withoutPkce(form: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...form].filter(([name]) => !name.startsWith('code_')));
}

function discovery(issuer: string): Readonly<Record<string, unknown>> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/auth/authorize`,
    token_endpoint: `${issuer}/auth/token`,
    revocation_endpoint: `${issuer}/auth/revoke`,
    jwks_uri: `${issuer}/auth/keys`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    subject_types_supported: ['pairwise'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'email', 'name'],
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    claims_supported: ['aud', 'email', 'email_verified', 'exp', 'iat', 'is_private_email', 'iss', 'nonce', 'sub'],
  };
}
