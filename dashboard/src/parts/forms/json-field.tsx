/** A form input for JSON, with its label and a description. An empty text is valid. */
import { Box, Text } from '@mantine/core';
import type { ComponentProps } from 'react';
import { CodeEditor } from '../code/code-editor.tsx';
import { issueOfJson } from '../code/json-text.ts';

interface JsonFieldProps extends Omit<ComponentProps<typeof CodeEditor>, 'language'> {
  readonly about: string;
}

/** @param faults errors of its content; shown while it is valid JSON */
export function JsonField({ about, issues = [], ...editor }: JsonFieldProps) {
  const { label, value } = editor;
  const issue = value.trim() === '' ? null : issueOfJson(value);
  return (
    <Box>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Text size="xs" c="dimmed" mb={4}>
        {about}
      </Text>
      <CodeEditor {...editor} language="json" issues={issue === null ? issues : [issue]} />
    </Box>
  );
}
