/** The pages in the order of the navigation. The labels are the accessible names of their links and headings. */
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
  { to: '/', title: 'Overview', icon: IconHome, about: 'Status of the server' },
  { to: '/data', title: 'Data', icon: IconDatabase, about: 'Collections and documents' },
  { to: '/files', title: 'Files', icon: IconFile, about: 'Uploads with their metadata' },
  { to: '/events', title: 'Events', icon: IconActivity, about: 'Every change, live' },
  { to: '/users', title: 'Users', icon: IconUsers, about: 'Users, roles and sessions' },
  { to: '/keys', title: 'Keys', icon: IconKey, about: 'API keys for programs' },
  { to: '/policies', title: 'Policies', icon: IconLock, about: 'Permissions of clients' },
  { to: '/functions', title: 'Functions', icon: IconBolt, about: 'Your own code: plugins, runs, jobs' },
  { to: '/webhooks', title: 'Webhooks', icon: IconWebhook, about: 'Deliveries of events to your servers' },
  { to: '/integrations', title: 'Integrations', icon: IconPlugConnected, about: 'Zapier, n8n, Make and their hooks' },
  { to: '/api', title: 'API', icon: IconApi, about: 'Requests to copy and send' },
  { to: '/settings', title: 'Settings', icon: IconSettings, about: 'Providers, team, e-mail, limits' },
] as const;
