/** Sends many documents in requests of a size that the server accepts. */
import { request } from '../../../api/client.ts';
import { pathOf } from '../parts/search.ts';

/** Documents and bytes of one request; the server accepts 1,000 and 1 MiB. */
const MAX_DOCUMENTS = 500;
const MAX_BYTES = 900_000;

/**
 * Each request is all or nothing, and carries a key, so that one whose answer was lost can be sent again.
 * @param onSent called with the number of documents so far
 * @throws MillraceError what the server refuses; what was sent before stays. The error's number is in `onSent`.
 */
export async function sendDocuments(
  collection: string,
  documents: readonly object[],
  signal: AbortSignal,
  onSent: (count: number) => void,
): Promise<void> {
  let sent = 0;
  for (const part of parts(documents)) {
    if (signal.aborted) return;
    const headers = { prefer: 'return=minimal', 'idempotency-key': crypto.randomUUID() };
    const send = () => request('POST', pathOf(collection), { body: part, headers });
    // A lost network is not a rejection.
    await send().catch((error: unknown) => (error instanceof TypeError ? send() : Promise.reject(error)));
    sent += part.length;
    onSent(sent);
  }
}

function* parts(documents: readonly object[]): Generator<readonly object[]> {
  let part: object[] = [];
  let bytes = 0;
  for (const document of documents) {
    const size = new Blob([JSON.stringify(document)]).size + 1;
    if (part.length > 0 && (part.length === MAX_DOCUMENTS || bytes + size > MAX_BYTES)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(document);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
