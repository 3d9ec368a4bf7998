/** Tries a function, stored or as it stands in the editor, and shows what it did; what it wrote is taken back. */
import { Alert, Button, Group, Select, Stack, Text, Title } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { useRights } from '../../../api/rights.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { Copyable } from '../../../parts/copy.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { useAction } from '../../../parts/use-action.ts';
import type { PluginFunction, TryAnswer, WholePlugin } from '../parts/answers.ts';
import { usePluginPlace } from '../parts/place.ts';
import { Lines } from '../runs/live-log.tsx';
import { ErrorOfRun, Operations } from '../runs/outcome.tsx';
import { CallEndpoint } from './call-endpoint.tsx';
import { bodyOf, type Draft } from './draft.ts';
import { useRecordedEvents } from './recorded-events.ts';
import { exampleOf, inputOf, typesFor } from './try-input.ts';

interface TryTabProps {
  readonly plugin: WholePlugin;
  readonly draft: Draft | null;
}

export function TryTab({ plugin, draft }: TryTabProps) {
  const { search, go } = usePluginPlace();
  const fn = plugin.functions.find(({ name }) => name === search.function) ?? plugin.functions[0];
  if (fn === undefined) return <Text size="sm">The plugin has no function.</Text>;
  return (
    <Stack gap="lg">
      <Select
        label="Function"
        w={{ base: '100%', xs: 320 }}
        data={plugin.functions.map(({ name }) => name)}
        value={fn.name}
        allowDeselect={false}
        onChange={(name) => go({ function: name ?? undefined })}
      />
      <Trial key={fn.name} plugin={plugin} fn={fn} draft={draft} />
      {fn.route === undefined ? null : <CallEndpoint key={`call ${fn.name}`} route={fn.route} />}
    </Stack>
  );
}

const AS = [
  { value: 'caller', label: 'as it would run, called by you' },
  { value: 'anonymous', label: 'anonymous' },
  { value: 'user', label: 'a user who has signed in' },
];
const PRINCIPALS: Readonly<Record<string, object>> = {
  anonymous: { kind: 'anonymous' },
  user: { kind: 'user', id: 'u1' },
};

function Trial({ plugin, fn, draft }: TryTabProps & { readonly fn: PluginFunction }) {
  const { build, why } = useRights();
  const [input, setInput] = useState(() => JSON.stringify(exampleOf(fn), null, 2));
  const [as, setAs] = useState('caller');
  const [answer, setAnswer] = useState<TryAnswer | null>(null);
  const { busy, error, run } = useAction();
  const types = typesFor(fn);
  const events = useRecordedEvents(types);
  const tryOnce = async () => {
    const principal = PRINCIPALS[as];
    const body = {
      function: fn.name,
      input: JSON.parse(input) as unknown,
      ...(draft === null ? {} : bodyOf(draft)),
      ...(principal === undefined ? {} : { principal }),
    };
    setAnswer(
      (await request<TryAnswer>('POST', `/admin/plugins/${encodeURIComponent(plugin.name)}/try`, { body })).body,
    );
  };
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        Try
      </Title>
      <Text size="sm">
        The function runs once on this input{draft === null ? '' : ', as it stands in the editor'}. What it writes is
        shown and taken back; files and jobs are not made. Fetches are really made.
      </Text>
      {types.length === 0 ? null : (
        <Select
          label="A recorded event"
          description={events.length === 0 ? 'No event of these types is among the newest ones' : undefined}
          placeholder="Choose one to fill the input"
          w={{ base: '100%', sm: 480 }}
          searchable
          disabled={events.length === 0}
          data={events.map(({ id, type, documentId }) => ({ value: id, label: `${type} ${documentId ?? ''} (${id})` }))}
          onChange={(id) => {
            const event = events.find((one) => one.id === id);
            if (event !== undefined) setInput(JSON.stringify(inputOf(fn, event), null, 2));
          }}
        />
      )}
      <div>
        <Text size="sm" fw={600} mb={4}>
          Input
        </Text>
        <CodeEditor label="Input" language="json" lines={6} value={input} onChange={setInput} />
      </div>
      <Group align="flex-end">
        <Select
          label="Called by"
          w={280}
          data={AS}
          value={as}
          allowDeselect={false}
          onChange={(value) => setAs(value ?? 'caller')}
        />
        <Button
          leftSection={<IconPlayerPlay size={16} />}
          loading={busy}
          disabled={!build}
          title={build ? undefined : why}
          onClick={async () => {
            if (!(await run(tryOnce))) setAnswer(null);
          }}
        >
          Try it
        </Button>
      </Group>
      {error === null ? null : <Failure error={error} />}
      {answer === null ? null : <Outcome answer={answer} />}
    </Stack>
  );
}

function Outcome({ answer }: { readonly answer: TryAnswer }) {
  return (
    <Stack gap="sm" aria-label="What it did" role="region">
      {answer.error === undefined ? (
        <Alert color="teal" variant="light" py="xs" title={`It ended well after ${Math.round(answer.durationMs)} ms`} />
      ) : (
        <ErrorOfRun error={answer.error} />
      )}
      {answer.error === undefined ? (
        <>
          <Title order={4} size="sm">
            Returned
          </Title>
          <Copyable text={JSON.stringify(answer.result ?? null, null, 2)} what="the result" />
        </>
      ) : null}
      {answer.logs.length === 0 ? null : (
        <>
          <Title order={4} size="sm">
            Logged
          </Title>
          <Lines lines={answer.logs} />
        </>
      )}
      <Title order={4} size="sm">
        Did, and took back what it has written
      </Title>
      <Operations operations={answer.operations} />
    </Stack>
  );
}
