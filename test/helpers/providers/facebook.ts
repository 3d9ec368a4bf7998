/**
 * An OAuth 2 server that behaves like Facebook, from its documentation: `#_=_` after the redirect, fields only where
 * `fields` lists them, optionally no e-mail address and never its verification state, errors as an object,
 * `appsecret_proof` where the app requires it, and no id token.
 */
import { createHmac } from 'node:crypto';
import type { Test } from 'tap';
import { Codes, clientOf, type Granted } from './codes.ts';
import { formPage, type Received, type Reply, redirectTo, type Site, startSite } from './site.ts';

export interface FacebookUser {
  /** Different for each app. */
  readonly id: string;
  readonly name: string;
  readonly email?: string;
  readonly picture?: string;
}

export interface Facebook extends Site {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The fields of a Millrace provider that uses this server. */
  readonly endpoints: Readonly<Record<'authorization' | 'token' | 'userinfo', string>>;
  /** Users by their login. */
  readonly users: Map<string, FacebookUser>;
  /** Whether calls have to prove that they know the secret of the app. */
  demandsProof: boolean;
}

const VERSION = '/v23.0';

export async function startFacebook(t: Test): Promise<Facebook> {
  const [clientId, clientSecret] = ['123456789012345', 'fedcba9876543210fedcba9876543210'];
  const codes = new Codes();
  const tokens = new Map<string, Granted>();

  const site = await startSite(t, (request) => {
    const { method, url, form } = request;
    const route = `${method} ${url.pathname}`;
    if (route === `GET ${VERSION}/dialog/oauth`) return dialog(url.searchParams);
    if (route === `POST ${VERSION}/dialog/oauth`) return decide(form);
    if (route === `GET ${VERSION}/oauth/access_token`) return token(request, url.searchParams);
    if (route === `POST ${VERSION}/oauth/access_token`) return token(request, form);
    if (route === `GET ${VERSION}/me`) return me(request);
    return null;
  });

  const facebook: Facebook = {
    ...site,
    clientId,
    clientSecret,
    endpoints: {
      authorization: `${site.origin}${VERSION}/dialog/oauth`,
      token: `${site.origin}${VERSION}/oauth/access_token`,
      userinfo: `${site.origin}${VERSION}/me`,
    },
    users: new Map(),
    demandsProof: false,
  };

  function dialog(requested: URLSearchParams): Reply {
    if (requested.get('client_id') !== clientId) return { status: 400, body: 'Invalid App ID' };
    return formPage('Log in with Facebook', `${VERSION}/dialog/oauth`, Object.fromEntries(requested), {
      requested: ['login'],
      buttons: { deny: 'Cancel' },
    });
  }

  function decide(form: URLSearchParams): Reply {
    const back = new URL(form.get('redirect_uri') ?? '');
    if (form.has('deny')) {
      back.searchParams.set('error', 'access_denied');
      back.searchParams.set('error_code', '200');
      back.searchParams.set('error_description', 'Permissions error');
      back.searchParams.set('error_reason', 'user_denied');
    } else {
      if (!facebook.users.has(form.get('login') ?? '')) return { status: 403, body: 'Not logged in' };
      back.searchParams.set('code', codes.grant(form, form.get('login') ?? ''));
    }
    back.searchParams.set('state', form.get('state') ?? '');
    back.hash = '_=_';
    return redirectTo(back);
  }

  function token({ headers }: Received, form: URLSearchParams): Reply {
    const { id, secret } = clientOf(form, headers.authorization);
    if (id !== clientId || secret !== clientSecret) return failure(1, 'Error validating client secret.');
    const granted = codes.redeem(form, id);
    if (typeof granted === 'string') return failure(100, 'This authorization code has been used.');
    const accessToken = `EAA${crypto.randomUUID().replaceAll('-', '')}`;
    tokens.set(accessToken, granted);
    return { body: { access_token: accessToken, token_type: 'bearer', expires_in: 5_183_944 } };
  }

  function me({ url, headers }: Received): Reply {
    const [, bearer] = /^(?:Bearer|OAuth) (.+)$/i.exec(headers.authorization ?? '') ?? [];
    const sent = bearer ?? url.searchParams.get('access_token') ?? '';
    const granted = tokens.get(sent);
    const user = facebook.users.get(granted?.login ?? '');
    if (granted === undefined || user === undefined) return failure(190, 'Invalid OAuth access token.');
    const proof = url.searchParams.get('appsecret_proof');
    const expected = createHmac('sha256', clientSecret).update(sent).digest('hex');
    if (proof === null && facebook.demandsProof) {
      return failure(100, 'API calls from the server require an appsecret_proof argument');
    }
    if (proof !== null && proof !== expected)
      return failure(100, 'Invalid appsecret_proof provided in the API argument');
    const fields = (url.searchParams.get('fields') ?? 'id,name').split(',').map((field) => field.trim());
    const { id, name, email, picture = 'https://platform-lookaside.fbsbx.com/platform/profilepic/' } = user;
    const known: Record<string, unknown> = {
      id,
      name,
      ...(email !== undefined && granted.scopes.includes('email') ? { email } : {}),
      picture: { data: { height: 50, width: 50, is_silhouette: false, url: picture } },
    };
    const shown = fields.flatMap((field) => {
      const property = field.replace(/[.(].*/, '');
      return property in known ? [[property, known[property]] as const] : [];
    });
    return { body: { ...Object.fromEntries(shown), id } };
  }

  return facebook;
}

function failure(code: number, message: string): Reply {
  return { status: 400, body: { error: { message, type: 'OAuthException', code, fbtrace_id: 'AbCdEfGhIjK' } } };
}
