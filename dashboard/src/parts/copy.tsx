/** Texts to copy: a command, a secret, an id. */
import { ActionIcon, Box, Code, CopyButton, Text, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import classes from './copy.module.css';
import { TOKEN } from './curl-command.ts';
import { PageLink } from './page-link.tsx';

interface CopyableProps {
  readonly text: string;
  /** What is copied, for the name of the button: `the command`. */
  readonly what: string;
  /** Replaces the shown text, when that contains a secret. */
  readonly shown?: string;
}

export function Copyable({ text, what, shown = text }: CopyableProps) {
  return (
    <Box className={classes.frame}>
      <Code block className={classes.text} tabIndex={0} aria-label={what}>
        {shown}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : `Copy ${what}`} withinPortal={false}>
            <ActionIcon className={classes.button} variant="default" onClick={copy} aria-label={`Copy ${what}`}>
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Box>
  );
}

/** A command to copy, and what to fill in before it works. */
export function Command({ text }: { readonly text: string }) {
  return (
    <div>
      <Copyable text={text} what="the command" />
      {text.includes(TOKEN) ? (
        <Text size="xs" c="dimmed" mt={4}>
          <code>TOKEN</code> is an API key, or an access token of a user with permission for this.{' '}
          <PageLink to="/keys" search={{ create: true }} inherit>
            Create key
          </PageLink>
        </Text>
      ) : null}
    </div>
  );
}
