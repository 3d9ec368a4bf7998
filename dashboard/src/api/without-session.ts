/** The client for what is asked before or besides the session of the person: requests without a token. */
import { createClient } from '../../../client/client.ts';

export const withoutSession = createClient(location.origin);
