/**
 * A day of departures, built from 200,000 real flights (delay, distance, time of departure): the document of each
 * flight, and its changes over the day. The source names no airports, so the flights are assigned to ten airports in
 * turn.
 */
import type { Field } from './seed-sets.ts';

export const AIRPORTS = ['ATL', 'BOS', 'DEN', 'DFW', 'JFK', 'LAX', 'MIA', 'ORD', 'SEA', 'SFO'] as const;

export interface Departure {
  readonly id: string;
  readonly airport: string;
  /** Hours since midnight. */
  readonly time: number;
  /** Minutes. */
  readonly delay: number;
  /** Miles. */
  readonly distance: number;
  readonly status: 'scheduled';
}

/** One change of a flight. */
export interface Turn {
  /** Hours since midnight. */
  readonly at: number;
  readonly id: string;
  readonly status: 'boarding' | 'departed';
}

const BOARDING_HOURS = 0.5;

/** This many flights, evenly over the day, in the order of their departure. */
export function departures(flights: readonly Field[], count: number): Departure[] {
  const step = Math.max(1, flights.length / count);
  return Array.from({ length: Math.min(count, flights.length) }, (_, n): Departure => {
    const { time, delay, distance } = flights[Math.floor(n * step)] ?? {};
    const airport = AIRPORTS[n % AIRPORTS.length] ?? 'ATL';
    return {
      id: `${airport}-${String(n).padStart(5, '0')}`,
      airport,
      time: Number(time),
      delay: Number(delay),
      distance: Number(distance),
      status: 'scheduled',
    };
  }).sort((one, other) => one.time - other.time);
}

/** The boarding and the departure of every flight, in the order of the day. */
export function turns(flights: readonly Departure[]): Turn[] {
  return flights
    .flatMap(({ id, time, delay }): Turn[] => {
      const leaves = time + Math.max(delay, 0) / 60;
      return [
        { at: leaves - BOARDING_HOURS, id, status: 'boarding' },
        { at: leaves, id, status: 'departed' },
      ];
    })
    .sort((one, other) => one.at - other.at);
}
