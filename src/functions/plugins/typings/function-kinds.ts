/** Typings of functions by kind, with their inputs. Lists from closed tables are filled in by typings.ts. */
export const FUNCTION_KIND_TYPINGS = `
  /** The return value of a function: a JSON value, or nothing. */
  type Result = unknown;

  /** An HTTP function handles requests. It returns the response: any JSON value, undefined for 204, or a Response. */
  type Endpoint<Body = unknown> = (input: Request<Body>, ctx: Context) => Result | Promise<Result>;

  interface Request<Body = unknown> {
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
    /** Below /fn, as requested: '/invoice/7/total'. */
    path: string;
    /** The value of each ':name' of the path. */
    params: { [name: string]: string };
    /** The query parameters; an array for a repeated name. */
    query: { [name: string]: string | string[] };
    /** Names are in lower case. Those with credentials are left out. */
    headers: { [name: string]: string };
    /** Parsed JSON, the fields of a form, or other text unchanged; null without a body. Validate it: it is untrusted input. */
    body: Body;
    /** The body as text; null without one. */
    text: string | null;
  }

  /** A trigger runs after an event, at least once. Its writes take effect exactly once. */
  type Trigger<C = AnyMembers> = (input: Event<C>, ctx: Context) => Result | Promise<Result>;

  interface Event<C = AnyMembers> {
    /** Its position in the event log. */
    id: string;
    type: SystemEventType | (string & {});
    /** When the change was made, ISO 8601. */
    timestamp: string;
    /** Null for a system event. */
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

  /** A cron job runs on a schedule. */
  type Cron = (input: { scheduledAt: string }, ctx: Context) => Result | Promise<Result>;

  /** A job runs after another function of the plugin called ctx.schedule, with the input of that call. */
  type Job<Input = unknown> = (input: Input, ctx: Context) => Result | Promise<Result>;

  /**
   * A write hook runs before each write of the API. It returns the document to write instead, or nothing for no
   * change; it rejects with: throw new Refusal('why'). It may read and fetch, but not write.
   */
  type Before<C = AnyMembers> = (input: Write<C>, ctx: ReadingContext) => BeforeResult<C> | Promise<BeforeResult<C>>;

  type BeforeResult<C = AnyMembers> = Sent<Draft<C>> | undefined | void;

  type Write<C = AnyMembers> =
    | { action: 'create'; collection: string; document: Draft<C>; before: null }
    | { action: 'update'; collection: string; document: Draft<C>; before: Document<C> }
    | { action: 'delete'; collection: string; document: null; before: Document<C> };
`;
