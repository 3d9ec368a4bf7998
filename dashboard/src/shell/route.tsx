/** The route above all pages. */
import { createRootRoute } from '@tanstack/react-router';
import { Shell } from './shell.tsx';

/** Stands alone, without navigation: who opens it may have no account yet. */
export const SETUP_PATH = '/setup';

export const shellRoute = createRootRoute({ component: Shell });
