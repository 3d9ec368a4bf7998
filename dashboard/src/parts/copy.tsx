/** Texts to copy: a command, a secret, an id. */
import { ActionIcon, Box, Code, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import classes from './copy.module.css';

/** @param what what is copied, for the name of the button: `the command` */
export function Copyable({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <Box className={classes.frame}>
      <Code block className={classes.text} tabIndex={0} aria-label={what}>
        {text}
      </Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : `Copy ${what}`}>
            <ActionIcon className={classes.button} variant="default" onClick={copy} aria-label={`Copy ${what}`}>
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </Box>
  );
}
