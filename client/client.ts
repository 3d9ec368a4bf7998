/**
 * The client of Millrace for browsers and Node 20 and newer, without dependencies: documents, live queries, sign-in, uploads.
 * `createClient('http://127.0.0.1:3000').collection('todos').live({ filter: { done: false } }, draw)`.
 */
import { Collection } from './collection.ts';
import { Connection } from './connection.ts';
import { HttpClient, type RequestOptions } from './http-client.ts';
import { type EventQuery, type EventState, LiveEvents } from './live-events.ts';
import type { ClientResponse, MillraceError } from './problem.ts';
import { Session, type SessionStore, type TokenSource, type User } from './session.ts';
import { createSignInUrl, magicLinkRequest, readMagicLink, readSignInCallback, type SignInStore } from './sign-in.ts';
import { Files } from './signed-file-urls.ts';
import type { WebSocketClass } from './websocket-like.ts';

export type { Collection, Doc, DocumentMeta, Page, WriteOptions } from './collection.ts';
export type { RequestOptions } from './http-client.ts';
export type { EventQuery, EventState } from './live-events.ts';
export type { LiveState } from './live-query.ts';
export type { LiveStatus, LoggedEvent } from './live-subscription.ts';
export type { ClientResponse } from './problem.ts';
export { MillraceError, type ProblemDocument } from './problem.ts';
export type { ListQuery, Query } from './query.ts';
export type { SavedSession, SessionStore, TokenSource, User } from './session.ts';
export type { SignInStore } from './sign-in.ts';
export type { Files, SignedUrlOptions } from './signed-file-urls.ts';
export type { WebSocketClass, WebSocketLike } from './websocket-like.ts';

export interface ClientOptions {
  /** A credential from elsewhere, such as an API key, or a function that returns one. It replaces signing in. */
  readonly token?: string | TokenSource;
  /** Where the session is stored; without a store it ends with the page. */
  readonly session?: SessionStore;
  /**
   * Called at every sign-in and sign-out, and when the session ends elsewhere. After such an end every request fails until the
   * next `signIn` or `signOut`.
   */
  readonly onSession?: (state: SessionState) => void;
  /**
   * The WebSocket class for live queries, if the runtime has no `WebSocket`, as in Node 20: for example that of the package `ws`.
   */
  readonly WebSocket?: WebSocketClass;
}

export interface SessionState {
  /** The signed-in user, or null. */
  readonly user: User | null;
  /** Why the session ended without `signOut`: revoked, expired, or signed out on another page. Otherwise null. */
  readonly problem: MillraceError | null;
}

/** An uploaded file, as the server returns it. */
export interface FileResource {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
}

export class Client {
  /** Creates signed URLs of files that an `<img>` can load. */
  readonly files: Files;
  readonly #base: string;
  readonly #session: Session;
  readonly #requests: HttpClient;
  readonly #connection: Connection;

  constructor(url: string, options: ClientOptions = {}) {
    const base = url.replace(/\/+$/, '');
    this.#base = base;
    this.#session = new Session(base, options.token ?? null, options.session ?? null);
    this.#requests = new HttpClient(base, this.#session);
    this.files = new Files(this.#requests, this.#session);
    this.#connection = new Connection(base, this.#session, options.WebSocket ?? globalThis.WebSocket);
    const { onSession } = options;
    if (onSession !== undefined) {
      this.#session.onChange(() => onSession({ user: this.#session.user, problem: this.#session.ended }));
    }
  }

  /** The signed-in user, or null. */
  get user(): User | null {
    return this.#session.user;
  }

  /** The documents of a collection, which need not exist yet. */
  collection<T extends object = Record<string, unknown>>(name: string): Collection<T> {
    return new Collection(name, this.#requests, this.#connection);
  }

  /**
   * Follows events: `onState` is called with those since the last call, and when the state of the connection changes. A lost
   * connection reconnects automatically without missing events.
   * @returns a function that ends it
   */
  events(query: EventQuery, onState: (state: EventState) => void): () => void {
    return this.#connection.follow((id) => new LiveEvents(id, query, onState));
  }

  /**
   * A request to any route of the server, with the credential of this client.
   * @param path with its parameters: `/admin/collections`
   * @throws MillraceError a refusal by the server; TypeError if the server cannot be reached
   */
  request(method: string, path: string, requested: RequestOptions = {}): Promise<ClientResponse> {
    return this.#requests.send(method, path, requested);
  }

  /** @throws MillraceError `invalid-credentials` for any wrong name or password, `rate-limited` after many failures */
  signIn(username: string, password: string): Promise<User> {
    return this.#session.signIn(username, password);
  }

  /**
   * Starts a sign-in with an identity provider: `location.assign(await client.signInWith('google', { redirect, store }))`.
   * @returns the URL for the browser to open
   */
  signInWith(
    provider: string,
    { redirect, store }: { readonly redirect: string; readonly store: SignInStore },
  ): Promise<string> {
    return createSignInUrl(this.#base, provider, redirect, store);
  }

  /**
   * Ends a sign-in by an identity provider, on the page at the redirect.
   * @param address `location.href`
   * @returns the signed-in user; null when the address is the end of no sign-in
   * @throws MillraceError that it was refused
   */
  async completeSignIn(address: string, store: SignInStore): Promise<User | null> {
    const ending = readSignInCallback(address, store);
    return ending === null ? null : await this.#session.exchange(ending);
  }

  /**
   * Requests an e-mail with a sign-in link and code. The response does not reveal whether the address has a user.
   * @param redirect the page that the link opens: an administrator of the server lists it
   * @param store where the browser keeps a secret until then: `localStorage` fits, because links open in new tabs
   */
  async sendMagicLink(
    email: string,
    { redirect, store }: { readonly redirect: string; readonly store: SignInStore },
  ): Promise<void> {
    await this.#requests.send('POST', '/auth/magic-link', { body: await magicLinkRequest(email, redirect, store) });
  }

  /**
   * Signs in by the link, on the page that it has opened. Call it when a button is pressed, and not when the page opens:
   * programs open links in letters, too.
   * @param address `location.href`
   * @returns the signed-in user; null when the address holds no secret
   * @throws MillraceError `link-expired`, also in another browser, `mfa-required`
   */
  async verifyMagicLink(address: string, store: SignInStore): Promise<User | null> {
    const proof = readMagicLink(address, store);
    return proof === null ? null : await this.#session.enterByEmail(proof);
  }

  /** Signs in by the code of a letter, in any browser. @throws MillraceError `invalid-credentials`, `mfa-required`, `rate-limited` */
  verifyOtp(email: string, code: string): Promise<User> {
    return this.#session.enterByEmail({ email, code });
  }

  /** Creates a user and signs in. */
  register(account: { readonly username: string; readonly password: string; readonly email?: string }): Promise<User> {
    return this.#session.register(account);
  }

  /** Ends the session. Later requests are sent without a credential. */
  signOut(): Promise<void> {
    return this.#session.signOut();
  }

  /** @param metadata up to 8 KiB of JSON, stored with the file */
  async upload(file: Blob, name: string, metadata?: object): Promise<FileResource> {
    const form = new FormData();
    if (metadata !== undefined) form.set('metadata', JSON.stringify(metadata));
    form.set('file', file, name);
    return (await this.#requests.send('POST', '/files', { body: form })).body as FileResource;
  }

  /** Ends all live queries, without calling their listeners, and their connection. Requests still work. */
  close(): void {
    this.#connection.close();
  }
}

/** @param url of the server: `http://127.0.0.1:3000` */
export function createClient(url: string, options: ClientOptions = {}): Client {
  return new Client(url, options);
}
