/** Begins the dashboard in the browser. */
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/spotlight/styles.css';
import { Code, type CSSVariablesResolver, createTheme, MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Problem } from '../../client/client.ts';
import { comeBack } from './api/by-provider.ts';
import { BASE_PATH, DASHBOARD } from './api/server.ts';
import { session } from './api/session.ts';
import { router } from './router.tsx';

/** A dialog is not a page: its head is no banner. Its title looks like a heading. */
const DIALOG = {
  closeButtonProps: { 'aria-label': 'Close' },
  attributes: { header: { role: 'none' } },
  styles: { title: { fontWeight: 600, fontSize: '1.25rem', lineHeight: 1.3, overflowWrap: 'anywhere' } },
};

const theme = createTheme({
  primaryColor: 'cyan',
  // Dark enough below white words for a contrast of 4.5, in both schemes.
  primaryShade: 9,
  autoContrast: true,
  defaultRadius: 'sm',
  // Who asks for less motion gets dialogs that are there at once.
  respectReducedMotion: true,
  components: {
    // Colour alone does not tell a link from the text around it (WCAG 1.4.1).
    Anchor: { defaultProps: { underline: 'always' } },
    // Ids, addresses and conditions may be wider than a phone. In a table the column is made wide enough for short ones.
    Code: Code.extend({
      styles: (_theme, { block }) => ({
        root: { whiteSpace: 'pre-wrap', overflowWrap: block ? 'anywhere' : 'break-word' },
      }),
    }),
    InputWrapper: { styles: { label: { overflowWrap: 'anywhere' } } },
    SegmentedControl: { styles: { label: { whiteSpace: 'normal' } } },
    // Words as they are written everywhere else.
    Badge: { defaultProps: { tt: 'none' } },
    // Buttons that show only a cross, as those of notes, need a name.
    CloseButton: { defaultProps: { 'aria-label': 'Close' } },
    // What is suggested belongs to the dialog or the content that the field is in.
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

/** Secondary text, faults and words on light badges with a contrast of 4.5 or more; Mantine's own have less. */
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
      // A refusal stays a refusal; a lost network comes back.
      retry: (count, error) => !(error instanceof Problem && error.status < 500) && count < 3,
    },
  },
});

/** The content security policy allows only styles that carry this. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';

// The library that keeps the page still behind a dialog reads it here.
Reflect.set(globalThis, '__webpack_nonce__', nonce);

/** Who comes back from a provider is signed in before anything is drawn. */
async function begin(): Promise<void> {
  // The server answers without the path, too, but cookies and links of the page are below it.
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
