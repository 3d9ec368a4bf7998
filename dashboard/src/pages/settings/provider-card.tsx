/** One provider: its kind, whether it works, and its actions. */
import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { linkProvider } from '../../api/provider-sign-in.ts';
import { BASE_PATH } from '../../api/server.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Verdict } from '../../parts/instance/check-result.tsx';
import { useAction } from '../../parts/use-action.ts';
import { type ListedProvider, titleOf, weaknessesOf } from './providers.ts';

/** The response of `POST /admin/providers/{name}/check`. */
interface CheckResult {
  readonly passed: boolean;
  readonly checks: readonly { readonly name: string; readonly passed: boolean; readonly message: string }[];
}

interface ProviderCardProps {
  readonly provider: ListedProvider;
  /** The signed-in user can sign in by it; null without a user. */
  readonly joined: boolean | null;
  readonly onEdit: () => void;
  readonly onChanged: () => void;
}

export function ProviderCard({ provider, joined, onEdit, onChanged }: ProviderCardProps) {
  const { name, kind, enabled = true, register = false } = provider;
  const { busy, error, run } = useAction();
  const [result, setResult] = useState<CheckResult | null>(null);
  const [removing, setRemoving] = useState(false);
  const check = async () => {
    setResult(null);
    setResult((await request<CheckResult>('POST', `/admin/providers/${name}/check`)).body);
  };
  const leave = async () => {
    await request('DELETE', `/auth/identities/${name}`);
    onChanged();
  };
  return (
    <Card withBorder padding="md">
      <Stack gap="sm">
        <Group gap="xs" wrap="nowrap" align="flex-start">
          <Group gap="xs" flex={1} miw={0}>
            <Title order={3} size="h5">
              {titleOf(provider)}
            </Title>
            <Badge variant="default">{kind}</Badge>
            {enabled ? null : <Badge variant="default">disabled</Badge>}
            {joined ? <Badge variant="default">linked to your account</Badge> : null}
          </Group>
          <Button size="compact-sm" variant="subtle" color="red" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          {register ? 'First sign-in creates a user' : 'Only for linked users'} · /auth/providers/{name}
        </Text>
        {weaknessesOf(provider).map((weakness) => (
          <Text key={weakness} size="sm">
            {weakness}
          </Text>
        ))}
        <Group gap="xs">
          <Button size="xs" variant="default" loading={busy} onClick={() => void run(check)}>
            Check
          </Button>
          <Button size="xs" variant="default" component="a" href={`${BASE_PATH}/signin`} target="_blank" rel="noopener">
            Test sign-in
          </Button>
          <Button size="xs" variant="default" onClick={onEdit}>
            Edit
          </Button>
          {joined === null ? null : joined ? (
            <Button size="xs" variant="default" onClick={() => void run(leave)}>
              Unlink
            </Button>
          ) : (
            <Button size="xs" variant="default" disabled={!enabled} onClick={() => void run(() => linkProvider(name))}>
              Link to my account
            </Button>
          )}
        </Group>
        {result === null ? null : (
          <Stack gap={6}>
            {result.checks.map(({ name: what, passed, message }) => (
              <Verdict key={what} good={passed && what === 'redirect' ? null : passed}>
                {message}
              </Verdict>
            ))}
          </Stack>
        )}
        {error === null ? null : <Failure error={error} />}
      </Stack>
      {removing ? (
        <Confirm
          title={`Remove ${name}?`}
          verb="Remove"
          onClose={() => setRemoving(false)}
          onConfirm={async () => {
            await request('DELETE', `/admin/providers/${name}`);
            onChanged();
          }}
        >
          It can no longer be used to sign in. Users are kept, and a new provider with the same name restores their
          linked identities.
        </Confirm>
      ) : null}
    </Card>
  );
}
