/** Replays a range of the log to a trigger: one request after the other, because the server reads a part for each. */
import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { request } from '../../api/client.ts';
import { Failure } from '../../parts/failure.tsx';
import { PageLink } from '../../parts/page-link.tsx';
import type { Plugin } from '../functions/parts/responses.ts';
import { numberOf } from './position.ts';

/** The progress. */
export interface Replayed {
  /** Runs created so far. */
  readonly count: number;
  readonly position: string;
  readonly done: boolean;
  /** Percentage of the range that was read. */
  readonly share: number;
}

interface Range {
  readonly since: string;
  readonly until?: string;
  readonly types?: readonly string[];
}

interface ApiResponse extends Omit<Replayed, 'share'> {
  readonly until: string;
}

const PLUGINS = '/admin/plugins/';

/** The triggers that may run, with the path of the replay of each. */
export function triggersOf(plugins: readonly Plugin[]): { readonly value: string; readonly label: string }[] {
  return plugins.flatMap(({ name: plugin, functions }) =>
    functions
      .filter(({ kind, state }) => kind === 'trigger' && state === 'active')
      .map(({ name }) => ({
        value: `${PLUGINS}${encodeURIComponent(plugin)}/functions/${encodeURIComponent(name)}/replay`,
        label: `${plugin}/${name}`,
      })),
  );
}

/** Whether a path is one of {@link triggersOf}. */
export function isOfTrigger(path: string): boolean {
  return path.startsWith(PLUGINS);
}

/** @param isOver asked before each further request @throws MillraceError a refusal by the server */
export async function replayToTrigger(
  path: string,
  range: Range,
  onReplayed: (replayed: Replayed) => void,
  isOver: () => boolean,
): Promise<void> {
  let count = 0;
  let next = range;
  for (;;) {
    const { body } = await request<ApiResponse>('POST', path, { body: next });
    count += body.count;
    const length = Math.max(1, numberOf(body.until) - numberOf(range.since));
    const share = body.done ? 100 : (100 * (numberOf(body.position) - numberOf(range.since))) / length;
    onReplayed({ ...body, count, share });
    if (body.done || isOver()) return;
    next = { ...range, since: body.position, until: body.until };
  }
}

export function ReplayedToTrigger({
  replayed: { count, position, done, share },
  error,
  onClose,
}: {
  readonly replayed: Replayed;
  readonly error: unknown;
  readonly onClose: () => void;
}) {
  const runs = count === 1 ? '1 run' : `${count.toLocaleString('en')} runs`;
  return (
    <Stack>
      <Progress value={share} aria-label="Progress" />
      <Text size="sm" role="status">
        {done ? `Done: ${runs} created.` : `${runs} so far, at ${position}. Closing this dialog stops the replay.`}
      </Text>
      {error === null ? null : <Failure error={error} />}
      <Group justify="space-between">
        <PageLink to="/functions" size="sm">
          Show runs
        </PageLink>
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Stack>
  );
}
