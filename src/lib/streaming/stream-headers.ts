/** The headers of event streams (`text/event-stream`). */

/**
 * `no-transform` keeps proxies that support it (HAProxy) from compressing, which would hold events back until their
 * buffer is full. nginx ignores it and uses `x-accel-buffering`.
 */
export const EVENT_STREAM_HEADERS = Object.freeze({
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'private, no-store, no-transform',
  'x-accel-buffering': 'no',
});
