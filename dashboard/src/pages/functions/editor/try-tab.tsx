/** Dry-runs a function, saved or as in the editor, and shows what it did; its writes are rolled back. */
import { Alert, Button, Group, Select, Stack, Text, Title } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { request } from '../../../api/client.ts';
import { useRights } from '../../../api/rights.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { Copyable } from '../../../parts/copy.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { useAction } from '../../../parts/use-action.ts';
import type { PluginFunction, TryResponse, WholePlugin } from '../parts/responses.ts';
import { usePluginSearch } from '../parts/search-params.ts';
import { Lines } from '../runs/live-log.tsx';
import { ErrorOfRun, Operations } from '../runs/outcome.tsx';
import { CallEndpoint } from './call-endpoint.tsx';
import { bodyOf, type Draft } from './plugin-draft.ts';
import { useRecordedEvents } from './recorded-events.ts';
import { exampleOf, inputOf, typesFor } from './try-input.ts';

interface TryTabProps {
  readonly plugin: WholePlugin;
  readonly draft: Draft | null;
}

export function TryTab({ plugin, draft }: TryTabProps) {
  const { search, go } = usePluginSearch();
  const fn = plugin.functions.find(({ name }) => name === search.function) ?? plugin.functions[0];
  if (fn === undefined) return <Text size="sm">The plugin has no functions.</Text>;
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
      <Simulation key={fn.name} plugin={plugin} fn={fn} draft={draft} />
      {fn.route === undefined ? null : <CallEndpoint key={`call ${fn.name}`} route={fn.route} />}
    </Stack>
  );
}

const AS = [
  { value: 'caller', label: 'as in a real run, called by you' },
  { value: 'anonymous', label: 'anonymous' },
  { value: 'user', label: 'a signed-in user' },
];
const PRINCIPALS: Readonly<Record<string, object>> = {
  anonymous: { kind: 'anonymous' },
  user: { kind: 'user', id: 'u1' },
};

function Simulation({ plugin, fn, draft }: TryTabProps & { readonly fn: PluginFunction }) {
  const { build, why } = useRights();
  const [input, setInput] = useState(() => JSON.stringify(exampleOf(fn), null, 2));
  const [as, setAs] = useState('caller');
  const [response, setResponse] = useState<TryResponse | null>(null);
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
    setResponse(
      (await request<TryResponse>('POST', `/admin/plugins/${encodeURIComponent(plugin.name)}/dry-run`, { body })).body,
    );
  };
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        Dry run
      </Title>
      <Text size="sm">
        The function runs once on this input{draft === null ? '' : ', with the code in the editor'}. Its writes are
        shown and rolled back; files and jobs are not created. Fetches are really sent.
      </Text>
      {types.length === 0 ? null : (
        <Select
          label="Recorded event"
          description={events.length === 0 ? 'None of the newest events has one of these types' : undefined}
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
            if (!(await run(tryOnce))) setResponse(null);
          }}
        >
          Start dry run
        </Button>
      </Group>
      {error === null ? null : <Failure error={error} />}
      {response === null ? null : <Outcome response={response} />}
    </Stack>
  );
}

function Outcome({ response }: { readonly response: TryResponse }) {
  return (
    <Stack gap="sm" aria-label="Outcome" role="region">
      {response.error === undefined ? (
        <Alert color="teal" variant="light" py="xs" title={`Succeeded after ${Math.round(response.durationMs)} ms`} />
      ) : (
        <ErrorOfRun error={response.error} />
      )}
      {response.error === undefined ? (
        <>
          <Title order={4} size="sm">
            Result
          </Title>
          <Copyable text={JSON.stringify(response.result ?? null, null, 2)} what="the result" />
        </>
      ) : null}
      {response.logs.length === 0 ? null : (
        <>
          <Title order={4} size="sm">
            Log
          </Title>
          <Lines lines={response.logs} />
        </>
      )}
      <Title order={4} size="sm">
        Operations (rolled back)
      </Title>
      <Operations operations={response.operations} />
    </Stack>
  );
}
