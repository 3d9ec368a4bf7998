/** The pages in the order of the navigation. The words are the accessible names of their links and headings. */
import {
  IconActivity,
  IconApi,
  IconBolt,
  IconDatabase,
  IconFile,
  IconHome,
  IconKey,
  IconLock,
  IconPlugConnected,
  IconSettings,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';

export const PAGES = [
  { to: '/', title: 'Overview', icon: IconHome, about: 'What runs, what needs attention' },
  { to: '/data', title: 'Data', icon: IconDatabase, about: 'Collections and documents' },
  { to: '/files', title: 'Files', icon: IconFile, about: 'Uploads with their metadata' },
  { to: '/events', title: 'Events', icon: IconActivity, about: 'Every change, as it happens' },
  { to: '/users', title: 'Users', icon: IconUsers, about: 'Accounts, roles and sessions' },
  { to: '/keys', title: 'Keys', icon: IconKey, about: 'API keys of programs' },
  { to: '/policies', title: 'Policies', icon: IconLock, about: 'Who may do what, on which documents' },
  { to: '/functions', title: 'Functions', icon: IconBolt, about: 'Your own code: plugins, runs, jobs' },
  { to: '/webhooks', title: 'Webhooks', icon: IconWebhook, about: 'Deliveries of events to your servers' },
  { to: '/integrations', title: 'Integrations', icon: IconPlugConnected, about: 'Zapier, n8n, Make and their hooks' },
  { to: '/api', title: 'API', icon: IconApi, about: 'Requests to copy and to try' },
  { to: '/settings', title: 'Settings', icon: IconSettings, about: 'Providers, team, mail, limits' },
] as const;
