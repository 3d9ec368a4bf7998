/**
 * The client of Millrace for browsers and Node 20 and newer, without dependencies: documents, live answers, sign-in,
 * uploads. `createClient('http://127.0.0.1:3000').collection('todos').live({ filter: { done: false } }, draw)`.
 */
import { Collection } from './collection.ts';
import { Connection } from './connection.ts';
import { Files } from './files.ts';
import { type EventQuery, type EventState, LiveEvents } from './live-events.ts';
import type { Answered, Problem } from './problem.ts';
import { type Asked, Requests } from './requests.ts';
import { Session, type SessionStore, type TokenSource, type User } from './session.ts';
import { askingFor, beginningOf, endingOf, linkOf, type PendingStore } from './sign-in.ts';
import type { SocketClass } from './socket.ts';

export type { Collection, Doc, Meta, Page, WriteOptions } from './collection.ts';
export type { AddressOptions, Files } from './files.ts';
export type { LiveStatus, LoggedEvent } from './followed.ts';
export type { LiveState } from './live.ts';
export type { EventQuery, EventState } from './live-events.ts';
export type { Answered } from './problem.ts';
export { Problem, type ProblemDocument } from './problem.ts';
export type { ListQuery, Query } from './query.ts';
export type { Asked } from './requests.ts';
export type { SavedSession, SessionStore, TokenSource, User } from './session.ts';
export type { PendingStore } from './sign-in.ts';
export type { Socket, SocketClass } from './socket.ts';

export interface ClientOptions {
  /** A credential from elsewhere, such as an API key, or a function that gives one. It replaces signing in. */
  readonly token?: string | TokenSource;
  /** Where a session is kept; without a store it ends with the page. */
  readonly session?: SessionStore;
  /**
   * Called at every sign-in and sign-out, and when the session ends elsewhere. After such an end everything is refused
   * until the next `signIn` or `signOut`.
   */
  readonly onSession?: (state: SessionState) => void;
  /**
   * The class for the socket of live answers, if the runtime has no `WebSocket`, as in Node 20: for example that of the
   * package `ws`.
   */
  readonly WebSocket?: SocketClass;
}

export interface SessionState {
  /** The signed-in user, or null. */
  readonly user: User | null;
  /** Why the session ended without `signOut`: revoked, expired, or signed out on another page. Otherwise null. */
  readonly problem: Problem | null;
}

/** An uploaded file, as the server describes it. */
export interface FileResource {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
}

export class Client {
  /** Makes addresses of files that an `<img>` can load. */
  readonly files: Files;
  readonly #base: string;
  readonly #session: Session;
  readonly #requests: Requests;
  readonly #connection: Connection;

  constructor(url: string, options: ClientOptions = {}) {
    const base = url.replace(/\/+$/, '');
    this.#base = base;
    this.#session = new Session(base, options.token ?? null, options.session ?? null);
    this.#requests = new Requests(base, this.#session);
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
   * Follows events: `onState` is called with those that have come since the last call, and when the state of the
   * connection changes. A lost connection is opened again by itself and misses none.
   * @returns a function that ends it
   */
  events(query: EventQuery, onState: (state: EventState) => void): () => void {
    return this.#connection.follow((id) => new LiveEvents(id, query, onState));
  }

  /**
   * A request to any route of the server, with the credential of this client.
   * @param path with its parameters: `/admin/collections`
   * @throws Problem a refusal by the server; TypeError if the server cannot be reached
   */
  request(method: string, path: string, asked: Asked = {}): Promise<Answered> {
    return this.#requests.send(method, path, asked);
  }

  /** @throws Problem `sign-in-failed` for any wrong name or password, `rate-limited` after many failures */
  signIn(username: string, password: string): Promise<User> {
    return this.#session.signIn(username, password);
  }

  /**
   * Begins a sign-in by an identity provider: `location.assign(await client.signInWith('google', { redirect, store }))`.
   * @returns the address that the browser has to open
   */
  signInWith(
    provider: string,
    { redirect, store }: { readonly redirect: string; readonly store: PendingStore },
  ): Promise<string> {
    return beginningOf(this.#base, provider, redirect, store);
  }

  /**
   * Ends a sign-in by an identity provider, on the page at the redirect.
   * @param address `location.href`
   * @returns the signed-in user; null when the address is the end of no sign-in
   * @throws Problem that it was refused
   */
  async finishSignIn(address: string, store: PendingStore): Promise<User | null> {
    const ending = endingOf(address, store);
    return ending === null ? null : await this.#session.exchange(ending);
  }

  /**
   * Asks for a letter with a link and a code that sign in. Whether an account has the address is not told.
   * @param redirect the page that the link opens: an owner of the server lists it
   * @param store where the browser keeps a secret until then: `localStorage` fits, because links open in new tabs
   */
  async askForLink(
    email: string,
    { redirect, store }: { readonly redirect: string; readonly store: PendingStore },
  ): Promise<void> {
    await this.#requests.send('POST', '/auth/link', { body: await askingFor(email, redirect, store) });
  }

  /**
   * Signs in by the link, on the page that it has opened. Call it when a button is pressed, and not when the page opens:
   * programs open links in letters, too.
   * @param address `location.href`
   * @returns the signed-in user; null when the address holds no secret
   * @throws Problem `link-unusable`, also in another browser, `mfa-required`
   */
  async enterByLink(address: string, store: PendingStore): Promise<User | null> {
    const proof = linkOf(address, store);
    return proof === null ? null : await this.#session.enterByLetter(proof);
  }

  /** Signs in by the code of a letter, in any browser. @throws Problem `sign-in-failed`, `mfa-required`, `rate-limited` */
  enterByCode(email: string, code: string): Promise<User> {
    return this.#session.enterByLetter({ email, code });
  }

  /** Makes an account and signs in. */
  register(account: { readonly username: string; readonly password: string; readonly email?: string }): Promise<User> {
    return this.#session.register(account);
  }

  /** Ends the session. Later requests are sent without a credential. */
  signOut(): Promise<void> {
    return this.#session.signOut();
  }

  /** @param custom up to 8 KiB of JSON that is kept with the file */
  async upload(file: Blob, name: string, custom?: object): Promise<FileResource> {
    const form = new FormData();
    if (custom !== undefined) form.set('custom', JSON.stringify(custom));
    form.set('file', file, name);
    return (await this.#requests.send('POST', '/files', { body: form })).body as FileResource;
  }

  /** Ends all live answers, without calling their listeners, and their connection. Requests can still be made. */
  close(): void {
    this.#connection.close();
  }
}

/** @param url where the server is: `http://127.0.0.1:3000` */
export function createClient(url: string, options: ClientOptions = {}): Client {
  return new Client(url, options);
}
