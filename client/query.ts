/** What a list or a live question asks for, in the language of docs/api.md. */

export interface Query {
  /** The JSON form: `{ "done": false, "points": { "$gte": 3 } }`. */
  readonly filter?: Readonly<Record<string, unknown>>;
  /** `-points,title` */
  readonly sort?: string;
  readonly limit?: number;
  readonly fields?: readonly string[];
}

export interface ListQuery extends Query {
  /** Where the page before said that this one begins. */
  readonly cursor?: string;
  readonly skip?: number;
  readonly expand?: string;
}
