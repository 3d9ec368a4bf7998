/** One run: what it logged, what it did, its input and result; and once more. */
import { Button, Code, Drawer, Group, Stack, Text, Title } from '@mantine/core';
import { IconRepeat } from '@tabler/icons-react';
import { Problem } from '../../../../../client/client.ts';
import { request } from '../../../api/client.ts';
import { useResource } from '../../../api/live.ts';
import { useRights } from '../../../api/rights.ts';
import { Copyable } from '../../../parts/copy.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { numberText } from '../../../parts/numbers.ts';
import { Loading } from '../../../parts/page.tsx';
import { useToldAction } from '../../../parts/use-action.ts';
import { When } from '../../../parts/when.tsx';
import type { Run, WholeRun } from '../parts/answers.ts';
import { useFunctionsAgain } from '../parts/place.ts';
import { RunBadge } from '../parts/state-badge.tsx';
import { Lines, type ToldLine } from './live-log.tsx';
import { ErrorOfRun, Operations } from './outcome.tsx';

/** While it goes on. */
const AGAIN_MS = 1_000;

interface RunDrawerProps {
  readonly id: string;
  /** What was told of it live: a run that is not kept is only here. */
  readonly told: Run | undefined;
  readonly lines: readonly ToldLine[];
  readonly onOther: (id: string) => void;
  readonly onClose: () => void;
}

export function RunDrawer({ id, told, lines, onOther, onClose }: RunDrawerProps) {
  const { data, error } = useResource<WholeRun>(`/admin/runs/${encodeURIComponent(id)}`, [], AGAIN_MS);
  const run = data ?? told;
  const isMissing = error instanceof Problem && error.code === 'run-not-found' && told !== undefined;
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
            <Text size="sm">Nothing was logged.</Text>
          )}
          {data === undefined ? (
            <Text size="sm">
              Of endpoints and befores, runs are kept that failed or logged something, and one in a hundred of the
              others.
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
  const { busy, run: act } = useToldAction();
  const isBefore = run.kind === 'before';
  const repeat = async () => {
    const { body } = await request<Run>('POST', `/admin/runs/${encodeURIComponent(run.id)}/repeat`);
    await again();
    onOther(body.id);
  };
  return (
    <Group justify="space-between" align="flex-start">
      <Stack gap={4}>
        <Group gap="xs">
          <RunBadge state={run.state} />
          <Text size="sm" component="span">
            {run.kind}, version {run.version.slice(0, 8)}, attempt {run.attempt},{' '}
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
              ? 'What runs before a write is not repeated: the write is not there any more'
              : 'A new run of the version in force, on the same input'
            : why
        }
        onClick={() => void act(repeat)}
      >
        Repeat
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
    return <Text size="sm">{bytes === 0 ? 'None.' : `${numberText(bytes)} bytes, too long to be kept.`}</Text>;
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
