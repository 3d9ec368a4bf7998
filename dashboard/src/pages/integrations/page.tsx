/** Automation services: how to connect each to this instance, and the hooks that they have created. */
import { Tabs } from '@mantine/core';
import { Page } from '../../parts/page.tsx';
import { HookList } from './hook-list.tsx';
import { integrationsRoute, SERVICES } from './route.ts';
import { Service, TITLES } from './service.tsx';
import { Snippets } from './snippets.tsx';

export function IntegrationsPage() {
  const { service = 'zapier' } = integrationsRoute.useSearch();
  const navigate = integrationsRoute.useNavigate();
  return (
    <Page
      title="Integrations"
      about="Automation services receive events and write documents. Each uses an API key, within its policies."
    >
      <Tabs
        value={service}
        keepMounted={false}
        onChange={(value) => void navigate({ search: { service: SERVICES.find((one) => one === value) } })}
      >
        <Tabs.List aria-label="Services">
          {SERVICES.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {TITLES[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={service} pt="md">
          <Service key={service} name={service} />
        </Tabs.Panel>
      </Tabs>
      <HookList />
      <Snippets />
    </Page>
  );
}
