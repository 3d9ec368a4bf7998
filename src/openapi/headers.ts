/** Response headers in the OpenAPI document. Operations list them by name. */

const text = { type: 'string' };

export const RESPONSE_HEADERS = {
  'X-Request-Id': { description: 'Id of the request, also in the log and in events.', schema: text },
  ETag: { description: 'The entity tag, for If-Match and If-None-Match.', schema: text },
  Location: { description: 'Where the created document is.', schema: text },
  Link: { description: 'The next and the previous page (RFC 8288).', schema: text },
  'Accept-Patch': { description: 'The media types of a patch (RFC 5789).', schema: text },
  'Content-Range': { description: 'The range of these bytes.', schema: text },
  'Retry-After': { description: 'Seconds to wait.', schema: text },
  'WWW-Authenticate': { description: 'How to sign in.', schema: text },
  'Preference-Applied': { description: 'The preferences that were applied (RFC 7240).', schema: text },
  'Idempotency-Replayed': { description: '`true` when the response is the one stored for the key.', schema: text },
  'Millrace-Position': {
    description: 'A position in the event log: changes after it are not in the list.',
    schema: text,
  },
  'Millrace-Next': { description: 'The cursor of the next page.', schema: text },
  'Millrace-Count': { description: 'The total number.', schema: { type: 'integer', minimum: 0 } },
  'Millrace-Hint': { description: 'Why the result is probably not the intended one; for people.', schema: text },
  'Millrace-Run': { description: 'Id of the run of a function, if it is recorded.', schema: text },
  'Millrace-Count-Kind': { description: 'exact or estimated.', schema: text },
} as const satisfies Record<string, { readonly description: string; readonly schema: object }>;

export type ResponseHeaderName = keyof typeof RESPONSE_HEADERS;
