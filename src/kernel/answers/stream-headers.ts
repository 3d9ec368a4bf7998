/** The headers of responses that stay open and send events as they happen (`text/event-stream`). */

/**
 * `no-transform` keeps proxies that heed it (HAProxy) from compressing, and so from holding events back until their buffer is full.
 * nginx ignores it and heeds `x-accel-buffering`.
 */
export const STREAM_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store, no-transform',
  'x-accel-buffering': 'no',
});
