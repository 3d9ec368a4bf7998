/** The providers for sign-in, and where such a sign-in may end. */
import { Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useResource, useSession } from '../../api/live.ts';
import { returned } from '../../api/provider-sign-in.ts';
import { SERVER } from '../../api/server.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { useEffectiveSettings } from '../../parts/instance/effective-settings.ts';
import { Loading } from '../../parts/page.tsx';
import { ProviderCard } from './provider-card.tsx';
import { ProviderForm } from './provider-form.tsx';
import type { ListedProvider } from './providers.ts';
import { Redirects } from './redirects.tsx';
import { settingsRoute } from './route.ts';

interface LinkedIdentity {
  readonly provider: string;
}

export function SignInSettings() {
  const { state } = useSession();
  const isUser = state === 'signed-in';
  const { provider: open, create } = settingsRoute.useSearch();
  const navigate = settingsRoute.useNavigate();
  const { data: settings } = useEffectiveSettings();
  const providers = useResource<readonly ListedProvider[]>('/admin/providers', ['system.provider.*']);
  const own = useResource<readonly LinkedIdentity[]>(
    isUser ? '/auth/identities' : '/admin/providers',
    isUser ? ['system.identity.*'] : [],
  );
  const close = () => void navigate({ search: ({ tab }) => ({ tab }) });
  const again = () => void Promise.all([providers.refetch(), own.refetch()]);
  if (providers.error !== null) return <Failure error={providers.error} again={again} />;
  if (providers.data === undefined) return <Loading />;
  const edited = providers.data.find(({ name }) => name === open);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={2} size="h4">
          Providers
        </Title>
        <Button
          leftSection={<IconPlus size={16} />}
          onClick={() => void navigate({ search: { tab: 'sign-in', create: true } })}
        >
          Add provider
        </Button>
      </Group>
      {returned.problem === null ? null : <Failure error={returned.problem} />}
      {providers.data.length === 0 ? (
        <Empty title="No providers: users sign in with a password" command="npm run openid-provider">
          With a provider, users sign in with their account at Google, GitHub, Apple, Facebook, Entra, Okta, Keycloak
          and others. In a clone, this command starts a test provider on your own machine.
        </Empty>
      ) : (
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          {providers.data.map((provider) => (
            <ProviderCard
              key={provider.name}
              provider={provider}
              joined={isUser ? (own.data?.some((one) => one.provider === provider.name) ?? false) : null}
              onEdit={() => void navigate({ search: { tab: 'sign-in', provider: provider.name } })}
              onChanged={again}
            />
          ))}
        </SimpleGrid>
      )}
      <Text size="sm" c="dimmed">
        Registration with a password is {settings?.registration ?? '…'}
        {settings?.registration === 'open' ? ': anyone can create a user' : ''}.
      </Text>
      <Redirects />
      {create === true || edited !== undefined ? (
        <ProviderForm
          {...(edited === undefined ? {} : { provider: edited })}
          base={settings?.publicUrl ?? SERVER}
          onClose={close}
          onSaved={() => {
            again();
            close();
          }}
        />
      ) : null}
    </Stack>
  );
}
