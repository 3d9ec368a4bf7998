/** The setup of a new instance, step by step. The secret of the link is removed from the URL at once. */
import { Alert, Box, Button, Center, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useSession } from '../../api/live.ts';
import { Failure } from '../../parts/failure.tsx';
import { FirstDocument } from '../../parts/first-document.tsx';
import { type EffectiveSettings, useEffectiveSettings } from '../../parts/instance/effective-settings.ts';
import { MailCheck } from '../../parts/instance/email-check.tsx';
import { FilesCheck } from '../../parts/instance/files-check.tsx';
import { AddressCheck } from '../../parts/instance/url-check.tsx';
import { Loading } from '../../parts/page.tsx';
import { SignIn } from '../../shell/sign-in.tsx';
import { AdminStep } from './admin-step.tsx';
import { PasskeyOffer } from './passkey-offer.tsx';
import classes from './setup.module.css';
import { STEPS, type Step } from './steps.ts';

/** The fragment of the URL when the page was opened, until it is used. In memory only. */
let fromLink = location.hash.slice(1);

export function SetupPage() {
  const { state, beginning } = useSession();
  const navigate = useNavigate();
  const requested = useSearch({ from: '/setup' }).step;
  const [token, setToken] = useState(fromLink);
  const [note, setNote] = useState<string | null>(null);
  const go = (step: Step, replace = false) => void navigate({ to: '/setup', search: { step }, hash: '', replace });
  const isOpen = state !== 'signed-out';
  // All steps except the first need the session that the first one opens.
  const step = isOpen && token === '' ? (requested ?? 'url') : 'admin';
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, before anything else
  useEffect(() => {
    if (location.hash !== '') go(step, true);
  }, []);
  if (!isOpen && token === '' && beginning?.needsAdmin === false) return <SignIn />;
  const at = STEPS.findIndex(({ id }) => id === step);
  return (
    <Center className={classes.frame} component="main">
      <title>Setup · Millrace</title>
      <Paper withBorder className={classes.paper} radius="md">
        <Stack gap="lg">
          <Box>
            <Title order={1} size="h2">
              Set up Millrace
            </Title>
            <Text size="sm" c="dimmed">
              Five steps, about two minutes
            </Text>
          </Box>
          <Progress at={at} onChoose={step === 'admin' ? null : go} />
          {note === null ? null : (
            <Alert color="yellow" title="Check what was created before there was an administrator">
              {note}
            </Alert>
          )}
          {step === 'admin' ? (
            <Section title="Administrator">
              <AdminStep
                token={token}
                onDone={(reported) => {
                  setNote(reported);
                  setToken('');
                  fromLink = '';
                  go('url', true);
                }}
              />
            </Section>
          ) : (
            <Checks step={step} onNext={go} />
          )}
        </Stack>
      </Paper>
    </Center>
  );
}

/** @param onChoose goes to a step; null when only the first one is open */
function Progress({ at, onChoose }: { readonly at: number; readonly onChoose: ((step: Step) => void) | null }) {
  return (
    <ol className={classes.steps} aria-label="Steps">
      {STEPS.map(({ id, title }, index) => (
        <li key={id}>
          <button
            type="button"
            className={classes.step}
            aria-current={index === at ? 'step' : undefined}
            data-done={index < at || undefined}
            disabled={onChoose === null || id === 'admin'}
            onClick={() => onChoose?.(id)}
          >
            <span className={classes.number} aria-hidden="true">
              {index + 1}
            </span>
            {title}
          </button>
        </li>
      ))}
    </ol>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack component="section" gap="sm">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

function Checks({ step, onNext }: { readonly step: Step; readonly onNext: (step: Step) => void }) {
  const { data: settings, error, refetch } = useEffectiveSettings();
  const navigate = useNavigate();
  if (settings === undefined) {
    return error === null ? <Loading rows={4} /> : <Failure error={error} again={() => void refetch()} />;
  }
  const next = STEPS[STEPS.findIndex(({ id }) => id === step) + 1];
  return (
    <>
      <Check step={step} settings={settings} />
      <Group justify="space-between">
        <Text size="sm" c="dimmed">
          {next === undefined ? 'All of this is also under Settings.' : 'You can also do this later, under Settings.'}
        </Text>
        {next === undefined ? (
          <Button onClick={() => void navigate({ to: '/' })}>Open the dashboard</Button>
        ) : (
          <Button rightSection={<IconArrowRight size={16} />} onClick={() => onNext(next.id)}>
            Next: {next.title}
          </Button>
        )}
      </Group>
    </>
  );
}

function Check({ step, settings }: { readonly step: Step; readonly settings: EffectiveSettings }) {
  if (step === 'files') {
    return (
      <Section title="File storage">
        <FilesCheck settings={settings} />
      </Section>
    );
  }
  if (step === 'email') {
    return (
      <Section title="E-mail">
        <MailCheck settings={settings} />
      </Section>
    );
  }
  if (step === 'document') {
    return (
      <Section title="Your first document">
        <FirstDocument />
        <PasskeyOffer />
      </Section>
    );
  }
  return (
    <Section title="URL of this server">
      <AddressCheck settings={settings} />
    </Section>
  );
}
