/**
 * Whether a page may open a socket here, or ask at all in development mode. Browsers let every page do so to every
 * server and send cookies along, so the server has to ask (RFC 6455, section 10.2). Programs other than browsers send
 * no origin. Pure.
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
  if (config.corsOrigins.includes(origin) || origin === config.publicUrl) return true;
  if (config.mode === 'development') return isLoopbackOrigin(origin);
  return host !== undefined && (origin === `https://${host}` || origin === `http://${host}`);
}
