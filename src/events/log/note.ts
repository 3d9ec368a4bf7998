/** How the parts of the event log report to an operator: one function, which the server connects to its own log. */
export type Note = (
  level: 'info' | 'warn' | 'error',
  message: string,
  details: Readonly<Record<string, unknown>>,
) => void;

export interface NoteTargets {
  readonly onError: (error: unknown) => void;
  readonly onAdvice: (text: string) => void;
}

/** Notes as lines of the server's log: an error is reported as one, and work that goes on by itself as advice. */
export function noteTo({ onError, onAdvice }: NoteTargets): Note {
  return (level, message, details) => {
    const text = `${message}: ${JSON.stringify(details)}`;
    if (level === 'error') onError(new Error(text));
    else if (level === 'warn') onAdvice(text);
  };
}
