/**
 * The shape of a webhook endpoint as it is written, and as answers show it. Rules that a schema cannot express are checked in
 * endpoint-rules.ts.
 */
import Type, { type Static } from 'typebox';
import { nullable } from '../../contract/schema.ts';
import { ORDERINGS, type Ordering, SCHEDULES, type ScheduleName } from './endpoint.ts';

const closed = { additionalProperties: false } as const;

/** Takes the place of the value of an own header, which is never shown. A PATCH may send it back to keep the value. */
export const BLANK = '•••';

export const MAX_HEADERS = 20;
const MAX_TYPES = 100;

export const TYPES = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  minItems: 1,
  maxItems: MAX_TYPES,
  uniqueItems: true,
  description: 'Event types, in which `*` stands for anything.',
});

export const URL = Type.String({ minLength: 8, maxLength: 2_048, description: 'Where events are sent.' });

export const FILTER = Type.Optional(
  nullable(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Which documents: a filter of the query language. It is asked of both states of a change.',
      },
    ),
  ),
);

/** What is written of an endpoint and may be changed later. */
const MEMBERS = {
  url: URL,
  types: TYPES,
  name: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 200, description: 'A name, for people.' }))),
  filter: FILTER,
  headers: Type.Optional(
    // Not a record: its pattern of names would let one with a line break have any value.
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1, maxLength: 2_048 },
      maxProperties: MAX_HEADERS,
      description: `Header fields that each call carries. Their values are kept encrypted and shown as \`${BLANK}\`.`,
    }),
  ),
  ratePerSecond: Type.Optional(
    nullable(Type.Number({ minimum: 0.001, maximum: 1_000, description: 'Calls a second at most. Null: no limit.' })),
  ),
  ordering: Type.Optional(
    Type.Unsafe<Ordering>({
      type: 'string',
      enum: [...ORDERINGS],
      default: 'none',
      description: '`document`: a delivery waits until the earlier one of the same document is delivered or dead.',
    }),
  ),
  schedule: Type.Optional(
    Type.Unsafe<ScheduleName>({
      type: 'string',
      enum: [...SCHEDULES],
      default: 'standard',
      description: 'When a failed delivery is tried again.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean({ default: true, description: 'Whether events are sent.' })),
};

/** An endpoint without its secret: what a merge patch is applied to. */
export const ENDPOINT = Type.Object(MEMBERS, { ...closed, description: 'A webhook endpoint.' });

/** A merge patch of it, as the contract describes it. */
export const ENDPOINT_PATCH = Type.Object(
  {
    ...Type.Partial(ENDPOINT).properties,
    headers: Type.Optional(
      Type.Unsafe<Record<string, string | null> | null>({
        type: ['object', 'null'],
        additionalProperties: { type: ['string', 'null'], maxLength: 2_048 },
        description: `A value replaces the one before, \`${BLANK}\` keeps it, and null removes the header.`,
      }),
    ),
  },
  { ...closed, description: 'A merge patch of a webhook endpoint (RFC 7396).' },
);

/** The body of `POST`. */
export const NEW_ENDPOINT = Type.Object(
  {
    ...MEMBERS,
    secret: Type.Optional(
      Type.String({
        maxLength: 256,
        description: 'The secret that signs: `whsec_` and the base64 of 24 to 64 bytes. One is made if there is none.',
      }),
    ),
  },
  { ...closed, description: 'A new webhook endpoint.' },
);

/** An endpoint as it is written. */
export type EndpointBody = Static<typeof ENDPOINT>;
