/** Startup warnings about an unsafe database: a version with known vulnerabilities, or no authentication. */

/**
 * The first version of each release line without a vulnerability that MongoDB published: 7.0.41 and 8.0.30; of the
 * later lines CVE-2026-9740 (any client that reaches the port can end the server). Older lines get no fixes any more,
 * newer lines are not checked.
 */
const FLOORS: readonly (readonly [number, number, number])[] = [
  [7, 0, 41],
  [8, 0, 30],
  [8, 2, 10],
  [8, 3, 3],
];

export interface DatabaseState {
  /** Such as `6.0.5`. */
  readonly version: string;
  /** Whether it required authentication. */
  readonly authenticated: boolean;
  /** Whether it is the program's own, which listens on loopback and requires a password. */
  readonly embedded: boolean;
  readonly production: boolean;
}

/** One or two sentences for each problem; none without problems. */
export function databaseWarnings({ version, authenticated, embedded, production }: DatabaseState): string[] {
  const warnings: string[] = [];
  const floor = floorOf(version);
  if (floor !== null && (production || !embedded)) {
    warnings.push(
      `MongoDB ${version} has known vulnerabilities. Use ${floor.join('.')} or newer` +
        `${embedded ? ', by MONGODB_URL or MONGOD_BINARY' : ''}.`,
    );
  }
  if (production && !authenticated) {
    warnings.push(
      'MongoDB requires no password: every program that reaches its port can read all data and become an administrator. ' +
        'Start it with --keyFile, create a user, and use that user in MONGODB_URL.',
    );
  }
  return warnings;
}

/** The version with the missing fixes; null if none are missing. */
function floorOf(version: string): readonly number[] | null {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const line = FLOORS.find((floor) => floor[0] > major || (floor[0] === major && floor[1] >= minor));
  if (line === undefined) return null;
  const [lineMajor, lineMinor, first] = line;
  return lineMajor === major && lineMinor === minor && patch >= first ? null : line;
}
