/**
 * Whether a page may open a socket here and, in development mode, whether it may send requests at all. Browsers let
 * every page open sockets to every server and send cookies with them, so the server must check the origin (RFC 6455,
 * section 10.2). Programs other than browsers send no origin.
 */
import type { ServerConfig } from './config.ts';
import { isLoopbackOrigin } from './loopback.ts';

/** @param host the header `Host` of the request */
export function isOriginAllowed(
  origin: string | undefined,
  host: string | undefined,
  config: Pick<ServerConfig, 'mode' | 'corsOrigins' | 'publicUrl'>,
): boolean {
  if (origin === undefined) return true;
  if (config.corsOrigins.includes(origin)) return true;
  if (config.publicUrl !== undefined && origin === new URL(config.publicUrl).origin) return true;
  if (config.mode === 'development') return isLoopbackOrigin(origin);
  return host !== undefined && (origin === `https://${host}` || origin === `http://${host}`);
}
