/** One run: its log, its operations, its input and result; and a rerun. */
import { Button, Code, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { MillraceError } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { useResource } from '../../../api/live.ts';
import { useRights } from '../../../api/rights.ts';
import { Copyable } from '../../../parts/copy.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { numberText } from '../../../parts/numbers.ts';
import { Loading } from '../../../parts/page.tsx';
import { useActionWithNotice } from '../../../parts/use-action.ts';
import { When } from '../../../parts/when.tsx';
import type { Run, WholeRun } from '../parts/responses.ts';
import { useFunctionsAgain } from '../parts/search-params.ts';
import { RunBadge } from '../parts/state-badge.tsx';
import { Lines, type LogLineOfRun } from './live-log.tsx';
import { ErrorOfRun, Operations } from './outcome.tsx';

/** While it is running. */
const AGAIN_MS = 1_000;

interface RunDrawerProps {
  readonly id: string;
  /** Its live messages: a run that is not stored is only here. */
  readonly reported: Run | undefined;
  readonly lines: readonly LogLineOfRun[];
  readonly onOther: (id: string) => void;
  readonly onClose: () => void;
}

export function RunDrawer({ id, reported, lines, onOther, onClose }: RunDrawerProps) {
  const { data, error } = useResource<WholeRun>(`/admin/runs/${encodeURIComponent(id)}`, [], AGAIN_MS);
  const run = data ?? reported;
  const isMissing = error instanceof MillraceError && error.code === 'run-not-found' && reported !== undefined;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={run === undefined ? 'Run' : `Run of ${run.plugin}/${run.function}`}
    >
      {run === undefined && error === null ? <Loading /> : null}
      {error === null || isMissing ? null : <Failure error={error} />}
      {run === undefined ? null : (
        <Stack gap="md">
          <About run={run} onOther={onOther} />
          {run.error === null ? null : <ErrorOfRun error={run.error} />}
          <Title order={3} size="sm">
            Log
          </Title>
          {data !== undefined && data.logs.length > 0 ? (
            <Lines lines={data.logs} />
          ) : lines.length > 0 ? (
            <Lines lines={lines} />
          ) : (
            <Text size="sm">No log lines</Text>
          )}
          {data === undefined ? (
            <Text size="sm">
              Runs of HTTP functions and write hooks are kept if they failed or logged something; of the others, one in
              a hundred is kept.
            </Text>
          ) : (
            <Details run={data} />
          )}
        </Stack>
      )}
    </Drawer>
  );
}

function About({ run, onOther }: { readonly run: Run; readonly onOther: (id: string) => void }) {
  const { build, why } = useRights();
  const again = useFunctionsAgain();
  const { busy, run: act } = useActionWithNotice();
  const isBefore = run.kind === 'beforeWrite';
  const repeat = async () => {
    const { body } = await request<Run>('POST', `/admin/runs/${encodeURIComponent(run.id)}/rerun`);
    await again();
    onOther(body.id);
  };
  return (
    <Group justify="space-between" align="flex-start">
      <Stack gap={4}>
        <Group gap="xs">
          <RunBadge state={run.state} />
          <Text size="sm" component="span">
            {run.kind}, version {run.version.slice(0, 8)}, attempt {run.attempts},{' '}
            <When at={run.startedAt ?? run.createdAt} />
            {run.durationMs === null ? '' : `, ${Math.round(run.durationMs)} ms`}
          </Text>
        </Group>
        <Text size="xs" c="dimmed" component="div">
          <Code>{run.id}</Code>
          {run.event === null ? null : (
            <>
              {' '}
              of the event <Code>{run.event}</Code>
            </>
          )}
        </Text>
      </Stack>
      <Button
        size="xs"
        leftSection={<IconRepeat size={16} />}
        loading={busy}
        disabled={!build || isBefore}
        title={
          build
            ? isBefore
              ? 'Write hooks cannot be rerun: the write has ended'
              : 'Starts a new run of the active version with the same input'
            : why
        }
        onClick={() => void act(repeat)}
      >
        Rerun
      </Button>
    </Group>
  );
}

function Details({ run }: { readonly run: WholeRun }) {
  return (
    <>
      <Title order={3} size="sm">
        Operations
      </Title>
      <Operations operations={run.operations} />
      <Title order={3} size="sm">
        Input
      </Title>
      <Kept text={run.input} bytes={run.inputBytes} what="the input" />
      <Title order={3} size="sm">
        Result
      </Title>
      <Kept text={run.result} bytes={run.resultBytes} what="the result" />
    </>
  );
}

function Kept({ text, bytes, what }: { readonly text: string | null; readonly bytes: number; readonly what: string }) {
  if (text === null) {
    return <Text size="sm">{bytes === 0 ? 'None' : `${numberText(bytes)} bytes, too large to be stored.`}</Text>;
  }
  return <Copyable text={pretty(text)} what={what} />;
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
