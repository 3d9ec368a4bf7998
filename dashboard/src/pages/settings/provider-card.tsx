/** One provider: what it is, whether it works, and what can be done with it. */
import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { joinProvider } from '../../api/by-provider.ts';
import { request } from '../../api/client.ts';
import { BASE_PATH } from '../../api/server.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Verdict } from '../../parts/installation/verdict.tsx';
import { useAction } from '../../parts/use-action.ts';
import { type ListedProvider, titleOf, weaknessesOf } from './providers.ts';

/** As `POST /admin/providers/{name}/check` answers. */
interface CheckResult {
  readonly passed: boolean;
  readonly checks: readonly { readonly check: string; readonly passed: boolean; readonly verdict: string }[];
}

interface ProviderCardProps {
  readonly provider: ListedProvider;
  /** The person's own account can sign in by it; null without an account. */
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
            {joined ? <Badge variant="default">joined to your account</Badge> : null}
          </Group>
          <Button size="compact-sm" variant="subtle" color="red" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          {register ? 'A first sign-in makes an account' : 'For accounts that have joined it'} · /auth/{name}
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
            Try a sign-in
          </Button>
          <Button size="xs" variant="default" onClick={onEdit}>
            Change
          </Button>
          {joined === null ? null : joined ? (
            <Button size="xs" variant="default" onClick={() => void run(leave)}>
              Leave it
            </Button>
          ) : (
            <Button size="xs" variant="default" disabled={!enabled} onClick={() => void run(() => joinProvider(name))}>
              Join to my account
            </Button>
          )}
        </Group>
        {result === null ? null : (
          <Stack gap={6}>
            {result.checks.map(({ check: what, passed, verdict }) => (
              <Verdict key={what} good={passed && what === 'redirect' ? null : passed}>
                {verdict}
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
          Nobody can sign in by it any more. Accounts stay, and a provider of the same name takes their identities up
          again.
        </Confirm>
      ) : null}
    </Card>
  );
}
