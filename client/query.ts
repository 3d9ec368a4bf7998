/** The query of a list or of a live query, in the language of docs/api.md. */

export interface Query {
  /** The JSON form: `{ "done": false, "points": { "$gte": 3 } }`. */
  readonly filter?: Readonly<Record<string, unknown>>;
  /** `-points,title` */
  readonly sort?: string;
  readonly limit?: number;
  readonly fields?: readonly string[];
  /** For administrators: the response that this principal gets, `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`. */
  readonly as?: string;
}

export interface ListQuery extends Query {
  /** The `next` of the previous page. */
  readonly cursor?: string;
  readonly skip?: number;
  readonly expand?: string;
}
