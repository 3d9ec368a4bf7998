/** A field of a form for JSON, with its label and a line about it. An empty text is no fault. */
import { Box, Text } from '@mantine/core';
import type { ComponentProps } from 'react';
import { CodeEditor } from '../code/code-editor.tsx';
import { faultOfJson } from '../code/json-text.ts';

interface JsonFieldProps extends Omit<ComponentProps<typeof CodeEditor>, 'language'> {
  readonly about: string;
}

/** @param faults faults of what it says; they are shown while it is JSON */
export function JsonField({ about, faults = [], ...editor }: JsonFieldProps) {
  const { label, value } = editor;
  const fault = value.trim() === '' ? null : faultOfJson(value);
  return (
    <Box>
      <Text size="sm" fw={600}>
        {label}
      </Text>
      <Text size="xs" c="dimmed" mb={4}>
        {about}
      </Text>
      <CodeEditor {...editor} language="json" faults={fault === null ? faults : [fault]} />
    </Box>
  );
}
