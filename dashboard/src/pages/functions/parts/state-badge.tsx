/** The state of a function and of a run, in a word. */
import { Badge } from '@mantine/core';
import type { PluginFunction, Run } from './responses.ts';

const FUNCTION_COLOURS = { active: 'teal', disabled: 'gray', quarantined: 'red', invalid: 'orange' } as const;

export function FunctionBadge({ state }: Pick<PluginFunction, 'state'>) {
  return (
    <Badge variant="dot" color={FUNCTION_COLOURS[state]} miw="max-content">
      {state}
    </Badge>
  );
}

const RUN_COLOURS = {
  pending: 'blue',
  running: 'blue',
  succeeded: 'teal',
  failed: 'red',
  canceled: 'gray',
  skipped: 'gray',
  rejected: 'orange',
} as const;

export function RunBadge({ state }: Pick<Run, 'state'>) {
  return (
    <Badge variant="dot" color={RUN_COLOURS[state]} miw="max-content">
      {state}
    </Badge>
  );
}
