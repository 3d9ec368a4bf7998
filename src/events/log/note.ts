/** How the parts of the event log report to an operator: one function, which the server connects to its own log. */
export type Note = (
  level: 'info' | 'warn' | 'error',
  message: string,
  details: Readonly<Record<string, unknown>>,
) => void;
