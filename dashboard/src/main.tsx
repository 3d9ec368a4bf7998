/** Starts the dashboard in the browser. */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/spotlight/styles.css';
import { Code, type CSSVariablesResolver, createTheme, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { MillraceError } from '../../client/client.ts';
import { comeBack } from './api/provider-sign-in.ts';
import { BASE_PATH, DASHBOARD } from './api/server.ts';
import { session } from './api/session.ts';
import { router } from './router.tsx';

/** A dialog is not a page: its head is not a banner. Its title looks like a heading. */
const DIALOG = {
  closeButtonProps: { 'aria-label': 'Close' },
  attributes: { header: { role: 'none' } },
  styles: { title: { fontWeight: 600, fontSize: '1.25rem', lineHeight: 1.3, overflowWrap: 'anywhere' } },
};

const theme = createTheme({
  primaryColor: 'cyan',
  // Dark enough below white text for a contrast of 4.5, in both schemes.
  primaryShade: 9,
  autoContrast: true,
  defaultRadius: 'sm',
  // With "reduce motion", dialogs appear at once.
  respectReducedMotion: true,
  components: {
    // Color alone does not distinguish a link from the text around it (WCAG 1.4.1).
    Anchor: { defaultProps: { underline: 'always' } },
    // Ids, URLs and conditions may be wider than a phone. In a table the column is wide enough for short ones.
    Code: Code.extend({
      styles: (_theme, { block }) => ({
        root: { whiteSpace: 'pre-wrap', overflowWrap: block ? 'anywhere' : 'break-word' },
      }),
    }),
    InputWrapper: { styles: { label: { overflowWrap: 'anywhere' } } },
    SegmentedControl: { styles: { label: { whiteSpace: 'normal' } } },
    // Words written as everywhere else.
    Badge: { defaultProps: { tt: 'none' } },
    // Buttons that show only a cross, as those of notifications, need a name.
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // Suggestions belong to the dialog or the content with the field.
    TagsInput: { defaultProps: { comboboxProps: { withinPortal: false } } },
    Modal: { defaultProps: DIALOG },
    Drawer: { defaultProps: DIALOG },
    Notification: {
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        styles: { description: { color: 'var(--mantine-color-dimmed)' } },
      },
    },
  },
});

/** Secondary text, errors and words on light badges with a contrast of 4.5 or more; Mantine's own have less. */
const colours: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5b636b',
    '--mantine-color-placeholder': '#6b7280',
    '--mantine-color-error': '#c92a2a',
    '--mantine-color-cyan-filled-hover': '#095e6b',
    '--mantine-color-teal-light-color': '#05573e',
    '--mantine-color-yellow-light-color': '#7a4300',
    '--mantine-color-red-light-color': '#a01818',
    '--mantine-color-gray-light-color': '#343a40',
  },
  dark: {
    '--mantine-color-dimmed': '#a6adb4',
    '--mantine-color-placeholder': '#9aa1a8',
    '--mantine-color-error': '#ff8787',
    '--mantine-color-cyan-filled-hover': '#095e6b',
  },
});

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // An error of the server is final; a lost network comes back.
      retry: (count, error) => !(error instanceof MillraceError && error.status < 500) && count < 3,
    },
  },
});

/** The content security policy allows only styles with this nonce. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';

// The library that keeps the page still behind a dialog reads it here.
Reflect.set(globalThis, '__webpack_nonce__', nonce);

/** A user who comes back from a provider is signed in before anything is drawn. */
async function begin(): Promise<void> {
  // The server also responds without the path, but cookies and links of the page are below it.
  if (!location.pathname.startsWith(DASHBOARD)) {
    location.replace(BASE_PATH + location.pathname + location.search + location.hash);
    await new Promise(() => {});
  }
  await session.begin();
  await comeBack();
}

const root = createRoot(document.getElementById('root') ?? document.body);
void begin().finally(() =>
  root.render(
    <StrictMode>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={colours}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <QueryClientProvider client={queries}>
          <Notifications position="bottom-right" />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  ),
);
