/** What log lines never hold, whatever part of the program writes them. Pure. Not here: the lines of requests (request-log.ts). */

/**
 * For pino's option `redact`. The parser of uploads writes the headers of a request at the level `trace`, and with them its
 * credential.
 */
export const NEVER_LOGGED = { paths: ['busboyOptions.headers'], remove: true };
