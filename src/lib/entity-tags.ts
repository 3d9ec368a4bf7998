/** Entity tags (RFC 9110 section 8.8.3) that clients send back. */

/** Suffixes of proxies that compress a response: Apache and Caddy `-gzip`, Jetty `--gzip`. */
const ENCODED = /^--?(?:gzip|x-gzip|deflate|br|zstd)"$/;

/**
 * Whether a client sent a tag of this server. A compressing proxy passes the tag on as a weak one (nginx, HAProxy), or
 * with the name of the encoding. Both identify the version that the server compares, so both count, also where RFC 9110
 * section 13.1.1 requires a strong comparison.
 * @param sent one tag of a condition, with its quotes
 * @param own the tag of the current version, with its quotes; empty for one that equals no tag
 */
export function isSameEntityTag(sent: string, own: string): boolean {
  if (own === '') return false;
  const tag = sent.startsWith('W/') ? sent.slice(2) : sent;
  const start = own.slice(0, -1);
  return tag === own || (tag.startsWith(start) && ENCODED.test(tag.slice(start.length)));
}
