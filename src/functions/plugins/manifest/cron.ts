/**
 * When a cron is due: the door to croner, which knows five fields, time zones and the days on which clocks change. It is loaded with
 * the first cron. Not here: timers, and who runs what is
 * due.
 */
import type { Cron } from 'croner';

/** Letters, digits and signs of five fields; `?` would mean the time of the reading. */
const FIELDS = /^[\w*,/#-]+(?: +[\w*,/#-]+){4}$/;

/** What is wrong with a schedule, as a sentence without its subject; null for nothing. */
export async function cronFault(schedule: string): Promise<string | null> {
  if (!FIELDS.test(schedule)) return 'must have five fields with blanks between them, such as 0 3 * * *';
  try {
    return (await parsed(schedule, 'UTC')).nextRun() === null ? 'is never due' : null;
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/^\w+: /, '') : '';
    return `is no schedule: ${said.slice(0, 120)}`;
  }
}

/** What is wrong with the name of a time zone; null for nothing. */
export function timeZoneFault(timeZone: string): string | null {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return null;
  } catch {
    return `'${timeZone}' is no time zone. Names are such as Europe/Berlin`;
  }
}

/** The times of one cron. All are whole minutes. */
export interface CronTimes {
  /** The first time after a moment; null when there is none any more. */
  after(moment: Date): Date | null;
  /** The last time up to a moment, that moment included; null when there was none. */
  upTo(moment: Date): Date | null;
}

/**
 * @param schedule one without a fault
 * @param timeZone of the IANA database, `Europe/Berlin`
 */
export async function cronTimes(schedule: string, timeZone: string): Promise<CronTimes> {
  const cron = await parsed(schedule, timeZone);
  return {
    after: (moment) => cron.nextRun(moment),
    // A time is not before itself, but before the next moment.
    upTo: (moment) => cron.previousRuns(1, new Date(moment.getTime() + 1))[0] ?? null,
  };
}

async function parsed(schedule: string, timezone: string): Promise<Cron> {
  const croner = await import('croner');
  return new croner.Cron(schedule, { mode: '5-part', timezone, paused: true });
}
