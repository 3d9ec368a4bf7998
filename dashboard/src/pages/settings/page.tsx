/** What holds for the whole installation: ways to sign in, the team, address, files and mail, limits. */
import { Tabs, Text } from '@mantine/core';
import { useSession } from '../../api/live.ts';
import { ForAccounts } from '../../parts/accounts/for-accounts.tsx';
import { Page } from '../../parts/page.tsx';
import { Installation } from './installation.tsx';
import { Letters } from './letters.tsx';
import { Limits } from './limits.tsx';
import { type SettingsTab, settingsRoute } from './route.ts';
import { SignInSettings } from './sign-in-settings.tsx';
import { Team } from './team.tsx';

const TABS: readonly { readonly id: SettingsTab; readonly title: string }[] = [
  { id: 'sign-in', title: 'Sign-in' },
  { id: 'team', title: 'Team' },
  { id: 'installation', title: 'Address, files, mail' },
  { id: 'letters', title: 'Letters' },
  { id: 'limits', title: 'Limits' },
];

export function SettingsPage() {
  const { beginning } = useSession();
  const { tab = 'sign-in' } = settingsRoute.useSearch();
  const navigate = settingsRoute.useNavigate();
  return (
    <Page title="Settings" about={`Millrace ${beginning?.version ?? ''}, ${beginning?.mode ?? ''} mode`}>
      <ForAccounts>
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
          <Tabs.Panel value="installation">
            <Installation />
          </Tabs.Panel>
          <Tabs.Panel value="letters">
            <Letters />
          </Tabs.Panel>
          <Tabs.Panel value="limits">
            <Limits />
          </Tabs.Panel>
        </Tabs>
      </ForAccounts>
      <Text size="xs" c="dimmed">
        Settings of the process are environment variables: a change of them needs a restart.
      </Text>
    </Page>
  );
}
