/** The client for requests before or without a session: without a token. */
import { createClient } from '../../../client/client.ts';
import { SERVER } from './server.ts';

export const withoutSession = createClient(SERVER);
