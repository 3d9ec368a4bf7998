/** The route above all pages. */
import { createRootRoute } from '@tanstack/react-router';
import { Shell } from './shell.tsx';

/** Shown without navigation, because it may be opened without a user. */
export const SETUP_PATH = '/setup';

export const shellRoute = createRootRoute({ component: Shell });
