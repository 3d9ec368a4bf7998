/** Settings of the instance: sign-in methods, the team, URL, files and e-mail, limits. */
import { Tabs, Text } from '@mantine/core';
import { useSession } from '../../api/live.ts';
import { Page } from '../../parts/page.tsx';
import { ForUsers } from '../../parts/users/for-users.tsx';
import { Emails } from './emails.tsx';
import { Installation } from './instance.tsx';
import { Limits } from './limits.tsx';
import { type SettingsTab, settingsRoute } from './route.ts';
import { SignInSettings } from './sign-in-settings.tsx';
import { Team } from './team.tsx';

const TABS: readonly { readonly id: SettingsTab; readonly title: string }[] = [
  { id: 'sign-in', title: 'Sign-in' },
  { id: 'team', title: 'Team' },
  { id: 'instance', title: 'URL, files, e-mail' },
  { id: 'emails', title: 'E-mails' },
  { id: 'limits', title: 'Limits' },
];

export function SettingsPage() {
  const { beginning } = useSession();
  const { tab = 'sign-in' } = settingsRoute.useSearch();
  const navigate = settingsRoute.useNavigate();
  return (
    <Page title="Settings" about={`Millrace ${beginning?.version ?? ''}, ${beginning?.mode ?? ''} mode`}>
      <ForUsers>
        <Tabs
          value={tab}
          onChange={(chosen) => void navigate({ search: { tab: TABS.find(({ id }) => id === chosen)?.id } })}
          keepMounted={false}
        >
          <Tabs.List mb="md">
            {TABS.map(({ id, title }) => (
              <Tabs.Tab key={id} value={id}>
                {title}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel value="sign-in">
            <SignInSettings />
          </Tabs.Panel>
          <Tabs.Panel value="team">
            <Team />
          </Tabs.Panel>
          <Tabs.Panel value="instance">
            <Installation />
          </Tabs.Panel>
          <Tabs.Panel value="emails">
            <Emails />
          </Tabs.Panel>
          <Tabs.Panel value="limits">
            <Limits />
          </Tabs.Panel>
        </Tabs>
      </ForUsers>
      <Text size="xs" c="dimmed">
        Other settings are environment variables: changing them requires a restart.
      </Text>
    </Page>
  );
}
