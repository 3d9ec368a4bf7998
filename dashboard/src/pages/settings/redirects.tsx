/** The redirect URLs of apps at which a sign-in by a provider may end. Adding one changes the current list. */
import { ActionIcon, Button, Code, Group, List, Stack, Text, TextInput, Title } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { useResource } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { useAction } from '../../parts/use-action.ts';

const PATH = '/admin/settings';

interface Listed {
  readonly redirectUrls: readonly string[];
  readonly configuredRedirectUrls: readonly string[];
}

export function Redirects() {
  const { data, refetch } = useResource<Listed>(PATH, ['system.setting.*']);
  const { busy, error, run } = useAction();
  const [address, setAddress] = useState('');
  const change = (next: (now: readonly string[]) => readonly string[]) =>
    run(async () => {
      const { body, headers } = await request<Listed>('GET', PATH);
      const tag = headers.get('etag');
      await request('PATCH', PATH, {
        body: { redirectUrls: next(body.redirectUrls) },
        headers: tag === null ? {} : { 'if-match': tag },
      });
      await refetch();
    });
  const add = async () => {
    if (await change((now) => [...now.filter((one) => one !== address), address])) setAddress('');
  };
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Redirect URLs
      </Title>
      <Text size="sm">
        URLs of your apps to which a sign-in with a provider can redirect, exactly as the app sends them, such as
        https://app.example.org/signed-in, or com.example.app:/signed-in for a native app. URLs of this server are
        always allowed.
      </Text>
      {data === undefined || data.redirectUrls.length + data.configuredRedirectUrls.length === 0 ? (
        <Text size="sm" c="dimmed">
          None yet
        </Text>
      ) : (
        <List size="sm" listStyleType="none" spacing={4}>
          {data.redirectUrls.map((one) => (
            <List.Item key={one}>
              <Group gap="xs" wrap="nowrap">
                <Code style={{ overflowWrap: 'anywhere' }}>{one}</Code>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove ${one}`}
                  onClick={() => void change((now) => now.filter((other) => other !== one))}
                >
                  <IconTrash size={16} />
                </ActionIcon>
              </Group>
            </List.Item>
          ))}
          {data.configuredRedirectUrls.map((one) => (
            <List.Item key={`always ${one}`}>
              <Code>{one}</Code> from MILLRACE_REDIRECT_URLS
            </List.Item>
          ))}
        </List>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <Group align="flex-end">
          <TextInput
            label="URL to add"
            placeholder="https://app.example.org/signed-in"
            required
            flex={1}
            maw={480}
            value={address}
            onChange={({ currentTarget }) => setAddress(currentTarget.value)}
          />
          <Button type="submit" variant="default" loading={busy}>
            Add
          </Button>
        </Group>
      </form>
      {error === null ? null : <Failure error={error} />}
    </Stack>
  );
}
