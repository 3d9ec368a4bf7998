/** The files of the instance, page by page, read again after an upload or a deletion. */
import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { request, withQuery } from '../../api/client.ts';
import { useEvents, useSession } from '../../api/live.ts';
import type { FilesSearch } from './route.ts';

/** A file as the server returns it. A policy may hide fields, but not from administrators. */
export interface FileView {
  readonly id: string;
  readonly url: string;
  readonly name: string;
  readonly type: string;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
  readonly createdAt: string;
  readonly createdBy: string | null;
  readonly metadata: unknown;
}

interface FilePage {
  readonly files: readonly FileView[];
  readonly next: string | null;
  /** The total number. */
  readonly count: number;
}

const PAGE = 60;

export function useFiles({ name, type }: FilesSearch) {
  const { state, turn } = useSession();
  const cache = useQueryClient();
  const conditions = {
    ...(name === undefined ? {} : { name: { $icontains: name } }),
    ...(type === undefined ? {} : { type: { $startsWith: type } }),
  };
  const filter = Object.keys(conditions).length === 0 ? undefined : JSON.stringify(conditions);
  const queryKey = ['files', filter, turn];
  useEvents({ types: ['system.file.*'] }, ({ events, missed }) => {
    if (events.length > 0 || missed !== null) void cache.invalidateQueries({ queryKey: ['files'] });
  });
  return useInfiniteQuery({
    queryKey,
    enabled: state !== 'signed-out',
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam: cursor }): Promise<FilePage> => {
      const path = withQuery('/files', { limit: PAGE, sort: '-createdAt', count: 'exact', filter, cursor });
      const { body, headers } = await request<readonly FileView[]>('GET', path);
      return { files: body, next: headers.get('millrace-next'), count: Number(headers.get('millrace-count')) };
    },
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
  });
}

const UNITS = ['bytes', 'kB', 'MB', 'GB'] as const;

/** `1.2 MB`; a kB has 1,000 bytes. */
export function sizeText(bytes: number): string {
  const step = bytes < 1_000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1_000 ** step;
  return `${value.toLocaleString('en', { maximumFractionDigits: step === 0 ? 0 : 1 })} ${UNITS[step]}`;
}
