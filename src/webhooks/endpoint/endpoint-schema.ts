/**
 * The schema of a webhook endpoint in requests and responses. endpoint-rules.ts checks what a schema cannot express.
 */
import Type, { type Static } from 'typebox';
import { nullable } from '../../openapi/schema.ts';
import { DELIVERY_ORDERINGS, type DeliveryOrdering, RETRY_SCHEDULES, type RetryScheduleName } from './endpoint.ts';

const closed = { additionalProperties: false } as const;

/**
 * Placeholder for the value of a custom header, which responses never contain. A PATCH may send it back to keep the
 * value.
 */
export const MASKED_HEADER_VALUE = '•••';

export const MAX_CUSTOM_HEADERS = 20;
const MAX_TYPES = 100;

export const EVENT_TYPES_SCHEMA = Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
  minItems: 1,
  maxItems: MAX_TYPES,
  uniqueItems: true,
  description: 'Event types; `*` is a wildcard.',
});

export const ENDPOINT_URL_SCHEMA = Type.String({
  minLength: 8,
  maxLength: 2_048,
  description: 'The URL that receives events.',
});

export const EVENT_FILTER_SCHEMA = Type.Optional(
  nullable(
    Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'Which documents: a filter of the query language. It is tested against both states of a change.',
      },
    ),
  ),
);

/** The fields that can be changed later. */
const FIELDS = {
  url: ENDPOINT_URL_SCHEMA,
  types: EVENT_TYPES_SCHEMA,
  name: Type.Optional(nullable(Type.String({ minLength: 1, maxLength: 200, description: 'A name, for people.' }))),
  filter: EVENT_FILTER_SCHEMA,
  headers: Type.Optional(
    // Not a record: its pattern would let a name with a line break have any value.
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string', minLength: 1, maxLength: 2_048 },
      maxProperties: MAX_CUSTOM_HEADERS,
      description: `Header fields of each request. Their values are stored encrypted and shown as \`${MASKED_HEADER_VALUE}\`.`,
    }),
  ),
  ratePerSecond: Type.Optional(
    nullable(
      Type.Number({
        minimum: 0.001,
        maximum: 1_000,
        description: 'Maximum number of requests per second. Null: no limit.',
      }),
    ),
  ),
  ordering: Type.Optional(
    Type.Unsafe<DeliveryOrdering>({
      type: 'string',
      enum: [...DELIVERY_ORDERINGS],
      default: 'none',
      description: '`document`: a delivery waits until the earlier one of the same document is delivered or failed.',
    }),
  ),
  retrySchedule: Type.Optional(
    Type.Unsafe<RetryScheduleName>({
      type: 'string',
      enum: [...RETRY_SCHEDULES],
      default: 'standard',
      description: 'When a failed delivery is retried.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean({ default: true, description: 'Whether the endpoint receives events.' })),
};

/** An endpoint without its secret: the target of a merge patch. */
export const ENDPOINT_BODY = Type.Object(FIELDS, { ...closed, description: 'A webhook endpoint.' });

/** A merge patch of an endpoint, as in the OpenAPI document. */
export const ENDPOINT_PATCH = Type.Object(
  {
    ...Type.Partial(ENDPOINT_BODY).properties,
    headers: Type.Optional(
      Type.Unsafe<Record<string, string | null> | null>({
        type: ['object', 'null'],
        additionalProperties: { type: ['string', 'null'], maxLength: 2_048 },
        description: `A value replaces the current one, \`${MASKED_HEADER_VALUE}\` keeps it, and null removes the header.`,
      }),
    ),
  },
  { ...closed, description: 'A merge patch of a webhook endpoint (RFC 7396).' },
);

/** The body of `POST`. */
export const NEW_ENDPOINT_BODY = Type.Object(
  {
    ...FIELDS,
    secret: Type.Optional(
      Type.String({
        maxLength: 256,
        description: 'The signing secret: `whsec_` and the base64 of 24 to 64 bytes. Generated if absent.',
      }),
    ),
  },
  { ...closed, description: 'A new webhook endpoint.' },
);

/** An endpoint in a request. */
export type EndpointBody = Static<typeof ENDPOINT_BODY>;
