/** Uploads files, a few at a time, and reports the progress of each. */
import { useCallback, useRef, useState } from 'react';
import { MillraceError, type ProblemDocument } from '../../../../client/client.ts';
import { SERVER } from '../../api/server.ts';
import { session } from '../../api/session.ts';

export interface Upload {
  readonly key: number;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** The sent part, from 0 to 1. */
  readonly share: number;
  readonly state: 'waiting' | 'sending' | 'done' | 'failed';
  readonly error: unknown;
}

interface Job {
  readonly key: number;
  readonly file: File;
}

/** More at once would not be faster, and small files would wait behind large ones. */
const AT_ONCE = 3;

export function useUploads() {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const waiting = useRef<Job[]>([]);
  const running = useRef(new Map<number, XMLHttpRequest>());
  const count = useRef(0);

  const change = useCallback((key: number, changed: Partial<Upload>) => {
    setUploads((all) => all.map((one) => (one.key === key ? { ...one, ...changed } : one)));
  }, []);

  const next = useCallback(() => {
    while (running.current.size < AT_ONCE) {
      const job = waiting.current.shift();
      if (job === undefined) return;
      const sending = new XMLHttpRequest();
      running.current.set(job.key, sending);
      change(job.key, { state: 'sending' });
      void send(sending, job.file, (share) => change(job.key, { share }))
        .then(
          () => change(job.key, { state: 'done', share: 1 }),
          (error: unknown) => change(job.key, { state: 'failed', error }),
        )
        .finally(() => {
          running.current.delete(job.key);
          next();
        });
    }
  }, [change]);

  const add = useCallback(
    (files: readonly File[]) => {
      const jobs = files.map((file) => ({ key: ++count.current, file }));
      waiting.current.push(...jobs);
      setUploads((all) => [
        ...all,
        ...jobs.map(({ key, file: { name, size } }): Upload => {
          return { key, name, size, share: 0, state: 'waiting', error: null };
        }),
      ]);
      next();
    },
    [next],
  );

  /** Stops one, or removes it from the list. */
  const remove = useCallback((key: number) => {
    waiting.current = waiting.current.filter((job) => job.key !== key);
    running.current.get(key)?.abort();
    setUploads((all) => all.filter((one) => one.key !== key));
  }, []);

  return { uploads, add, remove, clear: () => setUploads((all) => all.filter(({ state }) => !isOver(state))) };
}

export function isOver(state: Upload['state']): boolean {
  return state === 'done' || state === 'failed';
}

/** `fetch` does not report upload progress, so this is an XMLHttpRequest, with the credential of the session. */
async function send(sending: XMLHttpRequest, file: File, report: (share: number) => void): Promise<void> {
  const token = await session.source(null);
  await new Promise<void>((resolve, reject) => {
    const form = new FormData();
    form.set('file', file, file.name);
    sending.open('POST', `${SERVER}/files`);
    if (token !== null) sending.setRequestHeader('authorization', `Bearer ${token}`);
    sending.upload.onprogress = ({ loaded, total }) => report(total === 0 ? 0 : loaded / total);
    sending.onload = () => {
      if (sending.status < 300) resolve();
      else reject(problemOf(sending));
    };
    sending.onerror = () => reject(new TypeError('The server cannot be reached'));
    sending.onabort = () => resolve();
    sending.send(form);
  });
}

function problemOf({ status, responseText }: XMLHttpRequest): MillraceError {
  try {
    return new MillraceError(JSON.parse(responseText) as ProblemDocument);
  } catch {
    return new MillraceError({
      status,
      code: 'invalid-response',
      title: `The server responded with ${status} and no details`,
    });
  }
}
