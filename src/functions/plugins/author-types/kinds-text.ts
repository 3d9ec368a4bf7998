/**
 * The types of functions, one for each kind, with what each gets as its input: a part of the declarations for authors. What
 * the closed tables know is filled in by author-types.ts.
 */
export const KINDS_TEXT = `
  /** What a function may return: a JSON value, or nothing. */
  type Result = unknown;

  /** An endpoint answers requests. What it returns is the answer: any JSON value, undefined for 204, or a Response. */
  type Endpoint<Body = unknown> = (input: Request<Body>, ctx: Context) => Result | Promise<Result>;

  interface Request<Body = unknown> {
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    /** Below /fn, as it was asked for: '/invoice/7/total'. */
    path: string;
    /** What stands for each ':name' of the path. */
    params: { [name: string]: string };
    /** The parameters of the address; an array where a name stands there more than once. */
    query: { [name: string]: string | string[] };
    /** Names are in lower case. Those with credentials are left out. */
    headers: { [name: string]: string };
    /** The value of JSON, the members of a form, other text as it is; null without a body. Anybody may have sent it: check it. */
    body: Body;
    /** The body as text; null without one. */
    text: string | null;
  }

  /** A trigger runs after an event, at least once. What it writes is written exactly once. */
  type Trigger<C = AnyMembers> = (input: Event<C>, ctx: Context) => Result | Promise<Result>;

  interface Event<C = AnyMembers> {
    /** Its position in the event log. */
    id: string;
    type: SystemEventType | (string & {});
    /** When the change was made, ISO 8601. */
    timestamp: string;
    /** Null for an event of the system. */
    collection: string | null;
    documentId: string | null;
    revision: number | null;
    /** Top-level names with a changed value; null on create and delete. */
    changed: string[] | null;
    actor: { kind: string; id: string } | null;
    request: string | null;
    transaction: string | null;
    /** The document after the change; null when it was deleted. */
    data: Document<C> | null;
    /** The document before the change; null when it was created. */
    before: Document<C> | null;
  }

  /** A cron runs at its times. */
  type Cron = (input: { scheduledAt: string }, ctx: Context) => Result | Promise<Result>;

  /** A job runs when another function of the plugin asked for it with ctx.schedule; its input is what that gave. */
  type Job<Input = unknown> = (input: Input, ctx: Context) => Result | Promise<Result>;

  /**
   * A before sees each write of the API before it is made. It returns the document to write instead, or nothing for no
   * change; it refuses with: throw new Refusal('why'). It may read and fetch, but not write.
   */
  type Before<C = AnyMembers> = (input: Write<C>, ctx: ReadingContext) => BeforeResult<C> | Promise<BeforeResult<C>>;

  type BeforeResult<C = AnyMembers> = Sent<Draft<C>> | undefined | void;

  type Write<C = AnyMembers> =
    | { action: 'create'; collection: string; document: Draft<C>; before: null }
    | { action: 'update'; collection: string; document: Draft<C>; before: Document<C> }
    | { action: 'delete'; collection: string; document: null; before: Document<C> };
`;
