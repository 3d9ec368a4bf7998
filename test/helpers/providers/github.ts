/**
 * An OAuth 2 server that behaves like GitHub, from its documentation: a token response as a form unless JSON is
 * requested, errors with status 200, no response without `User-Agent`, a profile without an e-mail address beside a
 * list of addresses, and no OpenID Connect.
 */
import type { Test } from 'tap';
import { Codes, clientOf, type Granted } from './codes.ts';
import { formPage, type Received, type Reply, redirectTo, type Site, startSite } from './site.ts';

export interface GitHubUser {
  readonly id: number;
  readonly login: string;
  readonly name: string | null;
  readonly avatar_url: string;
  readonly emails: readonly { readonly email: string; readonly primary: boolean; readonly verified: boolean }[];
}

export interface GitHub extends Site {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The fields of a Millrace provider that uses this server. */
  readonly endpoints: Readonly<Record<'authorization' | 'token' | 'userinfo' | 'emails', string>>;
  /** Users by their login. */
  readonly users: Map<string, GitHubUser>;
}

export async function startGitHub(t: Test): Promise<GitHub> {
  const [clientId, clientSecret] = ['Iv1.0123456789abcdef', '0123456789abcdef0123456789abcdef01234567'];
  const codes = new Codes();
  const tokens = new Map<string, Granted>();
  const users = new Map<string, GitHubUser>();

  const site = await startSite(t, (request) => {
    const { method, url } = request;
    const route = `${method} ${url.pathname}`;
    if (route === 'GET /login/oauth/authorize') return authorize(url.searchParams);
    if (route === 'POST /login/oauth/authorize') return decide(request);
    if (route === 'POST /login/oauth/access_token') return token(request);
    if (route === 'GET /user')
      return asUser(request, ({ emails, ...user }) => ({ ...user, email: null, type: 'User' }));
    if (route === 'GET /user/emails') {
      return asUser(request, ({ emails }, { scopes }) => {
        const allowed = scopes.includes('user:email') || scopes.includes('user');
        return allowed ? emails.map((it) => ({ ...it, visibility: it.primary ? 'private' : null })) : null;
      });
    }
    return null;
  });

  function authorize(requested: URLSearchParams): Reply {
    if (requested.get('client_id') !== clientId) return { status: 404, body: 'Not Found' };
    const fields = Object.fromEntries(requested);
    return formPage('Sign in to GitHub', '/login/oauth/authorize', fields, {
      requested: ['login'],
      buttons: { deny: 'Cancel' },
    });
  }

  function decide({ form }: Received): Reply {
    const back = new URL(form.get('redirect_uri') ?? '');
    const state = form.get('state') ?? '';
    if (form.has('deny')) {
      back.searchParams.set('error', 'access_denied');
      back.searchParams.set('error_description', 'The user has denied your application access.');
      back.searchParams.set('error_uri', 'https://docs.github.com/apps/managing-oauth-apps/');
    } else {
      if (!users.has(form.get('login') ?? '')) return { status: 403, body: 'Incorrect username or password.' };
      back.searchParams.set('code', codes.grant(form, form.get('login') ?? ''));
    }
    back.searchParams.set('state', state);
    return redirectTo(back);
  }

  function token({ form, headers }: Received): Reply {
    const { id, secret } = clientOf(form, headers.authorization);
    const response = exchange(form, id, secret);
    if ((headers.accept ?? '').includes('application/json')) return { body: response };
    return {
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: new URLSearchParams(response).toString(),
    };
  }

  function exchange(form: URLSearchParams, id: string | null, secret: string | null): Record<string, string> {
    if (id !== clientId || secret !== clientSecret) {
      return failure('incorrect_client_credentials', 'The client_id and/or client_secret passed are incorrect.');
    }
    const granted = codes.redeem(form, id);
    if (typeof granted === 'string') {
      return failure('bad_verification_code', 'The code passed is incorrect or expired.');
    }
    const accessToken = `gho_${crypto.randomUUID().replaceAll('-', '')}`;
    tokens.set(accessToken, granted);
    return { access_token: accessToken, scope: granted.scopes.join(','), token_type: 'bearer' };
  }

  function asUser(request: Received, show: (user: GitHubUser, granted: Granted) => object | null): Reply {
    if (request.headers['user-agent'] === undefined) {
      return {
        status: 403,
        body: 'Request forbidden by administrative rules. Please make sure your request has a User-Agent header',
      };
    }
    const [, sent = ''] = /^(?:Bearer|token) (.+)$/i.exec(request.headers.authorization ?? '') ?? [];
    const granted = tokens.get(sent);
    const user = users.get(granted?.login ?? '');
    if (granted === undefined || user === undefined)
      return { status: 401, body: { message: 'Bad credentials', status: '401' } };
    const shown = show(user, granted);
    return shown === null ? { status: 404, body: { message: 'Not Found', status: '404' } } : { body: shown };
  }

  const endpoints = {
    authorization: `${site.origin}/login/oauth/authorize`,
    token: `${site.origin}/login/oauth/access_token`,
    userinfo: `${site.origin}/user`,
    emails: `${site.origin}/user/emails`,
  };
  return { ...site, clientId, clientSecret, endpoints, users };
}

function failure(error: string, error_description: string): Record<string, string> {
  return { error, error_description, error_uri: 'https://docs.github.com/apps/managing-oauth-apps/' };
}
