/** The client for what is asked before or besides the session of the person: requests without a token. */
import { createClient } from '../../../client/client.ts';
import { SERVER } from './server.ts';

export const withoutSession = createClient(SERVER);
