/** Really calls an HTTP function, with the rights of the user. */
import { Alert, Badge, Button, Code, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconSend } from '@tabler/icons-react';
import { useState } from 'react';
import { type PlainResponse, plainRequest } from '../../../api/request-raw-response.ts';
import { SERVER } from '../../../api/server.ts';
import { CodeEditor } from '../../../parts/code/code-editor.tsx';
import { Copyable } from '../../../parts/copy.tsx';
import { useActionWithNotice } from '../../../parts/use-action.ts';
import type { PluginFunction } from '../parts/responses.ts';
import { usePluginSearch } from '../parts/search-params.ts';

/** Where nothing can be sent. */
const WITHOUT_BODY = new Set(['GET', 'HEAD', 'DELETE']);

export function CallEndpoint({ route }: { readonly route: NonNullable<PluginFunction['route']> }) {
  const { go } = usePluginSearch();
  const [method, setMethod] = useState(route.methods[0] ?? 'GET');
  const [path, setPath] = useState(route.path);
  const [body, setBody] = useState('{}');
  const [response, setResponse] = useState<PlainResponse | null>(null);
  const { busy, run } = useActionWithNotice();
  const takesBody = !WITHOUT_BODY.has(method);
  const open = /:\w+/.exec(path)?.[0];
  const isOurs = path.startsWith('/fn/');
  const call = async () => {
    setResponse(await plainRequest(method, path, takesBody ? body : undefined));
  };
  const command = takesBody
    ? `curl -X ${method} ${SERVER}${path} -H 'content-type: application/json' -d '${body.replaceAll("'", "'\\''")}'`
    : `curl ${method === 'GET' ? '' : `-X ${method} `}'${SERVER}${path}'`;
  const runId = response?.headers.get('millrace-run') ?? null;
  return (
    <Stack gap="sm">
      <Title order={3} size="h5">
        Send request
      </Title>
      <Text size="sm">A real request with your permissions: its writes are kept.</Text>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void run(call);
        }}
      >
        <Group align="flex-end" gap="xs">
          <Select
            label="Method"
            w={110}
            data={[...route.methods]}
            value={method}
            allowDeselect={false}
            onChange={(value) => setMethod(value ?? 'GET')}
          />
          <TextInput
            label="Path"
            flex={1}
            miw={180}
            value={path}
            error={isOurs ? undefined : 'The path must begin with /fn/'}
            onChange={({ currentTarget }) => setPath(currentTarget.value)}
          />
          <Button
            type="submit"
            leftSection={<IconSend size={16} />}
            loading={busy}
            disabled={!isOurs || open !== undefined}
            title={open === undefined ? undefined : `Enter a value for ${open}`}
          >
            Send
          </Button>
        </Group>
      </form>
      {open === undefined ? null : <Text size="xs">Enter a value for {open} in the path.</Text>}
      {takesBody ? (
        <div>
          <Text size="sm" fw={600} mb={4}>
            Body
          </Text>
          <CodeEditor label="Body" language="json" lines={3} value={body} onChange={setBody} />
        </div>
      ) : null}
      <Copyable text={command} what="the command" />
      {response === null ? null : (
        <Alert
          color={response.status < 400 ? 'teal' : 'red'}
          variant="light"
          role="status"
          title={
            <Group gap="xs">
              <Badge variant="dot" color={response.status < 400 ? 'teal' : 'red'} miw="max-content">
                {response.status}
              </Badge>
              <span>{Math.round(response.durationMs)} ms</span>
            </Group>
          }
        >
          <Code block>{response.text === '' ? 'no body' : response.text}</Code>
          {runId === null ? null : (
            <Button size="xs" mt="xs" variant="default" onClick={() => go({ tab: 'runs', run: runId })}>
              Show run
            </Button>
          )}
        </Alert>
      )}
    </Stack>
  );
}
