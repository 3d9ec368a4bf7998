/** Sends a request from the page, and shows the response with its status and time. */
import { Alert, Badge, Button, Code, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useLive } from '../../api/live.ts';
import { type PlainResponse, plainRequest } from '../../api/request-raw-response.ts';
import { Copyable } from '../../parts/copy.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';
import { type Inputs, isRead, pathOf, type RequestName, requestOf, requestsBody } from './requests.ts';

interface TryItProps {
  readonly name: RequestName;
  readonly collection: string;
  readonly inputs: Inputs;
  /** Why the user may not write; null when they may. */
  readonly refused: string | null;
}

export function TryIt({ name, collection, inputs, refused }: TryItProps) {
  const [response, setResponse] = useState<PlainResponse | null>(null);
  const { busy, error, run } = useAction();
  const [follows, setFollows] = useState(false);
  const why = isRead(name) ? null : refused;
  const send = async () => {
    const path = pathOf(name, collection, inputs);
    setResponse(await plainRequest(requestOf(name).method, path, requestsBody(name) ? inputs.body : undefined));
  };
  if (name === 'subscribe') {
    return (
      <Stack gap="sm">
        <Group>
          <Button onClick={() => setFollows(!follows)} variant={follows ? 'default' : 'filled'}>
            {follows ? 'Stop' : 'Subscribe'}
          </Button>
        </Group>
        {follows ? <Live collection={collection} inputs={inputs} /> : null}
      </Stack>
    );
  }
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Button
          onClick={() => void run(send)}
          loading={busy}
          disabled={why !== null}
          {...(why === null ? {} : { title: why })}
        >
          Send
        </Button>
        {isRead(name) ? null : (
          <Text size="sm" c="dimmed">
            This request is really sent, with your permissions.
          </Text>
        )}
      </Group>
      {error === null ? null : <Failure error={error} />}
      {response === null ? null : <Shown {...response} />}
    </Stack>
  );
}

function Shown({ status, durationMs, text }: PlainResponse) {
  return (
    <Stack gap="xs">
      <Group gap="xs" role="status">
        <Badge color={status < 300 ? 'teal' : 'red'} variant="light">
          {status}
        </Badge>
        <Text size="sm">{durationMs.toFixed(0)} ms</Text>
      </Group>
      {text === '' ? (
        <Text size="sm">The response has no body.</Text>
      ) : (
        <Copyable text={pretty(text)} what="the response" />
      )}
    </Stack>
  );
}

/** The current documents of a subscription. */
function Live({ collection, inputs }: { readonly collection: string; readonly inputs: Inputs }) {
  const query = queryOf(inputs);
  if (query === null) return <Alert color="red" title="The filter is not a JSON object" />;
  return <Followed collection={collection} query={query} />;
}

interface LiveQuery {
  readonly filter?: Readonly<Record<string, unknown>>;
  readonly sort?: string;
  readonly limit?: number;
}

function Followed({ collection, query }: { readonly collection: string; readonly query: LiveQuery }) {
  const { status, documents, problem } = useLive(collection, query);
  return (
    <Stack gap="xs">
      <Group gap="xs" role="status">
        <Badge color={status === 'live' ? 'teal' : 'yellow'} variant="light">
          {status}
        </Badge>
        <Text size="sm">
          {documents.length} {documents.length === 1 ? 'document' : 'documents'}
        </Text>
      </Group>
      {problem === null ? (
        <Code block style={{ maxHeight: 420, overflow: 'auto' }} tabIndex={0} aria-label="the documents">
          {JSON.stringify(documents, null, 2)}
        </Code>
      ) : (
        <Failure error={problem} />
      )}
    </Stack>
  );
}

function queryOf({ filter, sort, limit }: Inputs): LiveQuery | null {
  const rest = { ...(sort === '' ? {} : { sort }), ...(limit === '' ? {} : { limit: Number(limit) }) };
  if (filter.trim() === '') return rest;
  try {
    const value: unknown = JSON.parse(filter);
    return typeof value === 'object' && value !== null ? { ...rest, filter: value as Record<string, unknown> } : null;
  } catch {
    return null;
  }
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
