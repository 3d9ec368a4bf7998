/** Log lines of functions, as they arrive. */
import { Box, Code, ScrollArea, Stack, Text, Title } from '@mantine/core';
import type { LogLine } from '../parts/responses.ts';

/** A line of the stream of runs. */
export interface LogLineOfRun extends LogLine {
  /** Id of the run. */
  readonly run: string;
  readonly plugin: string;
  readonly function: string;
}

export function LiveLog({ lines }: { readonly lines: readonly LogLineOfRun[] }) {
  return (
    <Stack gap={4}>
      <Title order={2} size="h5">
        Log
      </Title>
      {lines.length === 0 ? (
        <Text size="sm" c="dimmed">
          New log lines of functions appear here: ctx.log.info('…').
        </Text>
      ) : (
        <ScrollArea.Autosize mah={240} viewportProps={{ tabIndex: 0, 'aria-label': 'Log' }}>
          <Box role="log" aria-label="Live log">
            <Lines lines={lines} shown={(line) => `${line.plugin}/${line.function}`} />
          </Box>
        </ScrollArea.Autosize>
      )}
    </Stack>
  );
}

interface LinesProps<L extends LogLine> {
  readonly lines: readonly L[];
  /** The prefix of a line. */
  readonly shown?: (line: L) => string;
}

/** Lines of a log, the oldest first. */
export function Lines<L extends LogLine>({ lines, shown }: LinesProps<L>) {
  return (
    <Code block>
      {lines
        .map((line) => {
          const location = shown === undefined ? '' : `${shown(line)}  `;
          return `${new Date(line.at).toLocaleTimeString()}  ${line.level.padEnd(5)}  ${location}${line.text}`;
        })
        .join('\n')}
    </Code>
  );
}
