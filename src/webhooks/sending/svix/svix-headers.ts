/** Header fields that Svix does not send. */

/** From `FORBIDDEN_KEYS` of Svix 1.99; endpoint/custom-headers.ts rejects others for every sender. */
const NAMES: ReadonlySet<string> = new Set([
  'age',
  'cache-control',
  'clear-site-data',
  'expires',
  'pragma',
  'trailers',
  'warning',
]);
const PREFIXES = ['svix-', 'x-svix-', 'x-amz-', 'x-amzn-', 'x-azure-', 'x-fd-', 'x-gfe', 'x-goog-', 'x-google'];

/** @returns why Svix does not send it, as a sentence without its subject; null if it does */
export function svixHeaderIssue(name: string): string | null {
  const lower = name.toLowerCase();
  const isRefused = NAMES.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix));
  return isRefused ? 'is not sent by Svix, which sends the webhooks of this instance' : null;
}
