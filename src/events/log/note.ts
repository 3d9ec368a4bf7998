/** What the parts of the event log tell an operator: one call, which the house connects to its log. */
export type Note = (
  level: 'info' | 'warn' | 'error',
  message: string,
  details: Readonly<Record<string, unknown>>,
) => void;
