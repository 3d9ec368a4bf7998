/** A time, relative to now; the exact time is shown on hover. */
import { useEffect, useState } from 'react';

const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** @param at ISO 8601; null for never */
export function When({ at, never = 'never' }: { readonly at: string | null | undefined; readonly never?: string }) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((count) => count + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (at === null || at === undefined) return <>{never}</>;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {relative(at)}
    </time>
  );
}

function relative(at: string): string {
  const seconds = (Date.parse(at) - Date.now()) / 1_000;
  for (const [unit, length] of UNITS) {
    if (Math.abs(seconds) >= length) return RELATIVE.format(Math.round(seconds / length), unit);
  }
  if (Math.abs(seconds) >= 10) return RELATIVE.format(Math.round(seconds), 'second');
  // The clocks of the server and of this machine may differ a little.
  return seconds > 2 ? 'in a moment' : 'just now';
}
