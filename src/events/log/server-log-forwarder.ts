/** The log function of the event log, which the server connects to its logger. */
export type WriteServerLog = (
  level: 'info' | 'warn' | 'error',
  message: string,
  details: Readonly<Record<string, unknown>>,
) => void;

export interface LogCallbacks {
  readonly onError: (error: unknown) => void;
  readonly onAdvice: (text: string) => void;
}

/** Writes errors to the server's log as errors, and warnings, after which work continues by itself, as advice. */
export function createLogForwarder({ onError, onAdvice }: LogCallbacks): WriteServerLog {
  return (level, message, details) => {
    const text = `${message}: ${JSON.stringify(details)}`;
    if (level === 'error') onError(new Error(text));
    else if (level === 'warn') onAdvice(text);
  };
}
