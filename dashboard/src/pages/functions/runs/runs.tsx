/** Runs, the newest first: stored ones, and current ones. */
import { Button, Group, Select, Stack, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { withQuery } from '../../../api/client.ts';
import { useListPage } from '../../../api/live.ts';
import { useRunStream } from '../../../api/run-stream.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Loading } from '../../../parts/page.tsx';
import { DataTable } from '../../../parts/tables/data-table.tsx';
import { Pager } from '../../../parts/tables/pager.tsx';
import { TextFilter } from '../../../parts/tables/text-filter.tsx';
import { When } from '../../../parts/when.tsx';
import { RUN_STATES, type Run } from '../parts/responses.ts';
import type { RunsSearch } from '../parts/route.ts';
import { RunBadge } from '../parts/state-badge.tsx';
import { LiveLog, type LogLineOfRun } from './live-log.tsx';
import { RunDrawer } from './run-drawer.tsx';

const PAGE = 50;
/** The live messages that the page keeps. */
const MOST_RUNS = 200;
const MOST_LINES = 500;
/** Runs of other processes are stored a moment after their message. */
const AGAIN_MS = 5_000;

interface RunsProps {
  readonly search: RunsSearch;
  readonly go: (changes: RunsSearch) => void;
  /** Only runs of this plugin; by default those of all. */
  readonly plugin?: string;
  /** Names of the functions to choose from. */
  readonly functions?: readonly string[];
}

export function Runs({ search, go, plugin, functions = [] }: RunsProps) {
  const { function: fn, state, event, cursor } = search;
  const [reported, setReported] = useState<ReadonlyMap<string, Run>>(new Map());
  const [lines, setLines] = useState<readonly LogLineOfRun[]>([]);
  useRunStream(plugin, (kind, message) => {
    if (kind === 'run') setReported((before) => withRun(before, message as Run));
    else setLines((before) => [...before, message as LogLineOfRun].slice(-MOST_LINES));
  });
  const path = withQuery('/admin/runs', { plugin, functionName: fn, state, eventId: event, cursor, limit: PAGE });
  const { data, error, refetch } = useListPage<Run>(path, [], cursor === undefined ? AGAIN_MS : null);
  const kept = data?.items ?? [];
  const isRequested = (run: Run) =>
    (plugin === undefined || run.plugin === plugin) &&
    (fn === undefined || run.function === fn) &&
    (state === undefined || run.state === state) &&
    (event === undefined || run.event === event);
  const ids = new Set(kept.map(({ id }) => id));
  const fresh = cursor === undefined ? [...reported.values()].filter((run) => !ids.has(run.id)) : [];
  const items = [...fresh, ...kept.map((run) => newerOf(run, reported.get(run.id)))]
    .filter(isRequested)
    .sort((one, other) => other.createdAt.localeCompare(one.createdAt));
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-end">
        {plugin === undefined ? null : (
          <Select
            label="Function"
            size="xs"
            placeholder="All"
            clearable
            data={[...functions]}
            value={fn ?? null}
            onChange={(value) => go({ function: value ?? undefined, cursor: undefined })}
          />
        )}
        <Select
          label="State"
          size="xs"
          placeholder="All"
          clearable
          data={[...RUN_STATES]}
          value={state ?? null}
          onChange={(value) => go({ state: value ?? undefined, cursor: undefined })}
        />
        <TextFilter
          label="Event"
          placeholder="1-1042"
          value={event}
          onValue={(value) => go({ event: value, cursor: undefined })}
        />
      </Group>
      {error === null ? null : <Failure error={error} again={() => void refetch()} />}
      {data === undefined && error === null ? <Loading /> : null}
      {data === undefined ? null : <RunTable items={items} search={search} go={go} plugin={plugin} />}
      <Pager cursor={cursor} next={data?.next ?? null} onCursor={(to) => go({ cursor: to })} />
      <LiveLog lines={lines.filter((line) => fn === undefined || line.function === fn)} />
      {search.run === undefined ? null : (
        <RunDrawer
          key={search.run}
          id={search.run}
          reported={reported.get(search.run)}
          lines={lines.filter(({ run }) => run === search.run)}
          onOther={(run) => go({ run })}
          onClose={() => go({ run: undefined })}
        />
      )}
    </Stack>
  );
}

function withRun(before: ReadonlyMap<string, Run>, run: Run): ReadonlyMap<string, Run> {
  const all = new Map(before);
  // At the end, so that the oldest ones are dropped first.
  all.delete(run.id);
  all.set(run.id, run);
  return new Map([...all].slice(-MOST_RUNS));
}

/** A finished run never returns to an earlier state. */
function newerOf(kept: Run, reported: Run | undefined): Run {
  if (reported === undefined || reported.attempts < kept.attempts) return kept;
  const isOver = kept.state !== 'pending' && kept.state !== 'running';
  return isOver && reported.attempts === kept.attempts ? kept : reported;
}

interface RunTableProps {
  readonly items: readonly Run[];
  readonly search: RunsSearch;
  readonly go: (changes: RunsSearch) => void;
  readonly plugin: string | undefined;
}

function RunTable({ items, search, go, plugin }: RunTableProps) {
  if (items.length === 0) {
    const isFiltered = search.function !== undefined || search.state !== undefined || search.event !== undefined;
    return <Text size="sm">{isFiltered ? 'No matching runs' : 'No runs yet. Runs appear here when they start.'}</Text>;
  }
  return (
    <DataTable
      label="Runs"
      columns={['State', 'Function', 'Started', { right: 'Duration' }, { right: 'Attempt' }, 'Error']}
    >
      {items.map((run) => (
        <Table.Tr key={run.id}>
          <Table.Td>
            <RunBadge state={run.state} />
          </Table.Td>
          <Table.Td>
            <Button
              size="compact-sm"
              variant="subtle"
              px={0}
              onClick={() => go({ run: run.id })}
              aria-label={`Run ${run.id} of ${run.plugin}/${run.function}`}
            >
              {plugin === undefined ? `${run.plugin}/${run.function}` : run.function}
            </Button>
            <Text size="xs" c="dimmed">
              {run.kind}
              {run.event === null ? '' : ` of ${run.event}`}
            </Text>
          </Table.Td>
          <Table.Td>
            <When at={run.startedAt ?? run.createdAt} />
          </Table.Td>
          <Table.Td ta="right">{run.durationMs === null ? '–' : `${Math.round(run.durationMs)} ms`}</Table.Td>
          <Table.Td ta="right">{run.attempts}</Table.Td>
          <Table.Td maw={260}>
            {run.error === null ? null : (
              <Text size="sm" lineClamp={2} title={run.error.message}>
                {run.error.code}: {run.error.message}
              </Text>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </DataTable>
  );
}
