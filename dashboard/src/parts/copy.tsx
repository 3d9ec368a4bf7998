/** Texts to copy: a command, a secret, an id. */
import { ActionIcon, Box, Code, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import classes from './copy.module.css';

interface CopyableProps {
  readonly text: string;
  /** What is copied, for the name of the button: `the command`. */
  readonly what: string;
  /** Is shown in place of the text, when that holds a secret. */
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
