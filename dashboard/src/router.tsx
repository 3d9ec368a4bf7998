/** The routes of the dashboard. Each page is loaded when it is first opened, and keeps its state in its URL. */
import { createRouter, type ErrorComponentProps, parseSearchWith, stringifySearchWith } from '@tanstack/react-router';
import { DASHBOARD } from './api/server.ts';
import { accountRoute } from './pages/account/route.ts';
import { apiRoute } from './pages/api/route.ts';
import { collectionRoute, collectionsRoute } from './pages/data/route.ts';
import { eventsRoute } from './pages/events/route.ts';
import { filesRoute } from './pages/files/route.ts';
import { functionsRoute, pluginRoute } from './pages/functions/parts/route.ts';
import { integrationsRoute } from './pages/integrations/route.ts';
import { keysRoute } from './pages/keys/route.ts';
import { linkRoute } from './pages/link/route.ts';
import { overviewRoute } from './pages/overview/route.ts';
import { policiesRoute } from './pages/policies/parts/route.ts';
import { settingsRoute } from './pages/settings/route.ts';
import { setupRoute } from './pages/setup/route.ts';
import { usersRoute } from './pages/users/route.ts';
import { webhooksRoute } from './pages/webhooks/parts/route.ts';
import { Failure } from './parts/failure.tsx';
import { Page } from './parts/page.tsx';
import { shellRoute } from './shell/route.tsx';

/** Values in a URL are JSON, but an id such as `1e5` or `1.0` stays a text. */
function parseValue(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'number' && String(value) !== text) throw new SyntaxError('A text that looks like a number');
  return value;
}

export const router = createRouter({
  routeTree: shellRoute.addChildren([
    accountRoute,
    apiRoute,
    collectionRoute,
    collectionsRoute,
    eventsRoute,
    filesRoute,
    integrationsRoute,
    linkRoute,
    overviewRoute,
    settingsRoute,
    setupRoute,
    webhooksRoute,
    usersRoute,
    keysRoute,
    functionsRoute,
    pluginRoute,
    policiesRoute,
  ]),
  basepath: DASHBOARD,
  parseSearch: parseSearchWith(parseValue),
  stringifySearch: stringifySearchWith(JSON.stringify, parseValue),
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error, reset }: ErrorComponentProps) => <Failure error={error} again={reset} />,
  defaultNotFoundComponent: () => (
    <Page title="Page not found">There is no page at this URL. Use the navigation to find one.</Page>
  ),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
