/**
 * Location of this page's server. A page below a path, such as `/backend/dashboard`, sends its requests below that
 * path.
 */

/** The path below which the server responds; empty for none. The scripts of this page are at `/dashboard/…` below it. */
export const BASE_PATH = pathBefore(new URL(import.meta.url).pathname, '/dashboard/');

/** The URL of the server, without a slash at the end. */
export const SERVER = location.origin + BASE_PATH;

/** The path of the pages. */
export const DASHBOARD = `${BASE_PATH}/dashboard`;

function pathBefore(path: string, end: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf(end)));
}
