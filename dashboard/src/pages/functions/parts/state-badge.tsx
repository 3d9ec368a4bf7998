/** How a function and a run are, in a word. */
import { Badge } from '@mantine/core';
import type { PluginFunction, Run } from './answers.ts';

const FUNCTION_COLOURS = { active: 'teal', disabled: 'gray', quarantined: 'red', invalid: 'orange' } as const;

export function FunctionBadge({ state }: Pick<PluginFunction, 'state'>) {
  return (
    <Badge variant="dot" color={FUNCTION_COLOURS[state]} miw="max-content">
      {state}
    </Badge>
  );
}

const RUN_COLOURS = {
  waiting: 'blue',
  running: 'blue',
  ok: 'teal',
  failed: 'red',
  parked: 'red',
  refused: 'orange',
} as const;

export function RunBadge({ state }: Pick<Run, 'state'>) {
  return (
    <Badge variant="dot" color={RUN_COLOURS[state]} miw="max-content">
      {state}
    </Badge>
  );
}
