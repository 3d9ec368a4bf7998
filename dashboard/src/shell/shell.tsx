/** The frame around every page: navigation, palette, the user's menu, and the sign-in when a session is needed. */
import { Alert, AppShell, Burger, Button, Group, Kbd, Menu, NavLink, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconAlertTriangle, IconSearch, IconUser } from '@tabler/icons-react';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useSession } from '../api/live.ts';
import { useAccount } from '../api/rights.ts';
import { session } from '../api/session.ts';
import { LINK_PATH } from './magic-link.tsx';
import { PAGES } from './navigation.ts';
import { openPalette, Palette } from './palette.tsx';
import { Reauthentication } from './reauthentication.tsx';
import classes from './shell.module.css';
import { SignIn } from './sign-in.tsx';

export function Shell() {
  const { state, turn, beginning } = useSession();
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // The permissions of the user can change at any time. The subscription also reports at once when the session ends.
  useAccount(['system.policy.*']);
  if (state === 'beginning') return null;
  if (path === '/setup' || path === LINK_PATH) return <Outlet />;
  // Without a session at the start there is nothing to show below the sign-in.
  if (state === 'signed-out' && turn === 0) return <SignIn />;
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <a className={classes.skip} href="#content">
        Skip to the content
      </a>
      <AppShell.Header className={classes.header}>
        <Group gap="sm" wrap="nowrap">
          <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
          <Link to="/" className={classes.name}>
            Millrace
          </Link>
        </Group>
        <Group gap="sm" wrap="nowrap">
          <UnstyledButton className={classes.search} onClick={openPalette} aria-label="Search">
            <IconSearch size={16} />
            <Text size="sm" visibleFrom="xs">
              Search
            </Text>
            <Kbd size="xs" visibleFrom="sm">
              Ctrl K
            </Kbd>
          </UnstyledButton>
          <Person />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages" component="nav">
        {PAGES.map(({ to, title, icon: Icon }) => (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={title}
            leftSection={<Icon size={18} stroke={1.6} />}
            active={to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)}
            onClick={close}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        {state === 'open' && beginning?.mode === 'development' ? (
          <Alert color="yellow" icon={<IconAlertTriangle size={18} />} mb="md" py="xs">
            <b>Development mode.</b> Everyone on this machine has full access, without sign-in. Production mode requires
            sign-in and policies.
          </Alert>
        ) : null}
        <Outlet />
      </AppShell.Main>
      <Palette />
      <Reauthentication />
      {state === 'signed-out' ? <SignIn over /> : null}
    </AppShell>
  );
}

function Person() {
  const { state } = useSession();
  const account = useAccount();
  if (state === 'open') return null;
  const name = account?.username ?? account?.email ?? 'Account';
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="xs"
          leftSection={<IconUser size={16} />}
          maw={220}
          aria-label={`Account of ${name}`}
        >
          <Text size="sm" truncate visibleFrom="xs">
            {name}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{account?.roles.join(', ') || 'no roles'}</Menu.Label>
        <Menu.Item component={Link} to="/account">
          Your account
        </Menu.Item>
        <Menu.Item onClick={() => void session.signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
