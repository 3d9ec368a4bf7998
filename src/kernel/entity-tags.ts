/** Entity tags (RFC 9110 section 8.8.3) as they come back from clients. Pure. */

/** What proxies append that compress a response: Apache and Caddy `-gzip`, Jetty `--gzip`. */
const ENCODED = /^--?(?:gzip|x-gzip|deflate|br|zstd)"$/;

/**
 * Whether a client names a tag that this server sent. A proxy that compresses passes the tag on as a weak one (nginx, HAProxy), or
 * with the name of the encoding. Both name the version that the server compares, so both count, also where RFC 9110 section
 * 13.1.1 asks for a strong comparison.
 * @param sent one tag of a condition, with its quotes
 * @param own the tag of the current version, with its quotes; empty for one that equals no tag
 */
export function isSameTag(sent: string, own: string): boolean {
  if (own === '') return false;
  const tag = sent.startsWith('W/') ? sent.slice(2) : sent;
  const start = own.slice(0, -1);
  return tag === own || (tag.startsWith(start) && ENCODED.test(tag.slice(start.length)));
}
