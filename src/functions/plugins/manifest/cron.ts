/** Cron schedules through croner: five fields, time zones, daylight saving time. Loaded with the first cron job. */
import type { Cron } from 'croner';

/** Letters, digits and signs of five fields; `?` would mean the time of parsing. */
const FIELDS = /^[\w*,/#-]+(?: +[\w*,/#-]+){4}$/;

/** The error in a schedule, as a sentence without its subject; null if valid. */
export async function cronIssue(schedule: string): Promise<string | null> {
  if (!FIELDS.test(schedule)) return 'must have five fields separated by spaces, such as 0 3 * * *';
  try {
    return (await parsed(schedule, 'UTC')).nextRun() === null ? 'is never due' : null;
  } catch (error) {
    const said = error instanceof Error ? error.message.replace(/^\w+: /, '') : '';
    return `is not a valid schedule: ${said.slice(0, 120)}`;
  }
}

/** The error in the name of a time zone; null if valid. */
export function timeZoneIssue(timeZone: string): string | null {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return null;
  } catch {
    return `'${timeZone}' is not a time zone. Use a name such as Europe/Berlin`;
  }
}

/** The times of one cron job, in whole minutes. */
export interface CronTimes {
  /** The first time after a moment; null if there is none. */
  after(moment: Date): Date | null;
  /** The last time up to and including a moment; null if there was none. */
  upTo(moment: Date): Date | null;
}

/**
 * @param schedule a valid one
 * @param timeZone of the IANA database, `Europe/Berlin`
 */
export async function cronTimes(schedule: string, timeZone: string): Promise<CronTimes> {
  const cron = await parsed(schedule, timeZone);
  return {
    after: (moment) => cron.nextRun(moment),
    // `previousRuns` excludes the given moment, so pass one that is 1 ms later.
    upTo: (moment) => cron.previousRuns(1, new Date(moment.getTime() + 1))[0] ?? null,
  };
}

async function parsed(schedule: string, timezone: string): Promise<Cron> {
  const croner = await import('croner');
  return new croner.Cron(schedule, { mode: '5-part', timezone, paused: true });
}
