/** The query of a list or of a live answer, in the language of docs/api.md. */

export interface Query {
  /** The JSON form: `{ "done": false, "points": { "$gte": 3 } }`. */
  readonly filter?: Readonly<Record<string, unknown>>;
  /** `-points,title` */
  readonly sort?: string;
  readonly limit?: number;
  readonly fields?: readonly string[];
  /** For owners: the answer as this principal gets it, `user:<id>`, `role:<name>`, `key:<id>` or `anonymous`. */
  readonly as?: string;
}

export interface ListQuery extends Query {
  /** The `next` of the page before. */
  readonly cursor?: string;
  readonly skip?: number;
  readonly expand?: string;
}
