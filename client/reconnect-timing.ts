/** When a lost connection is reopened: network and page state of the browser, and the delay after failures. */

const FIRST_RETRY_MS = 250;
const LAST_RETRY_MS = 15_000;

interface Source {
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
}

/** The parts of a browser's global object that are used. */
interface Browser extends Source {
  readonly navigator?: { readonly onLine?: boolean };
  readonly document?: Source & { readonly visibilityState?: string };
}

export interface NetworkListeners {
  /** The browser is offline. */
  offline(): void;
  /** The network is back, or the page is visible again: retry without further delay. */
  online(): void;
}

/** Calls the listeners, in runtimes that have such events, until the returned function is called. */
export function watchNetwork(listeners: NetworkListeners, browser: Browser = globalThis as Browser): () => void {
  const offline = () => listeners.offline();
  const online = () => listeners.online();
  const visibility = () => {
    if (browser.document?.visibilityState !== 'visible') return;
    if (browser.navigator?.onLine === false) offline();
    else online();
  };
  browser.addEventListener?.('offline', offline);
  browser.addEventListener?.('online', online);
  browser.document?.addEventListener?.('visibilitychange', visibility);
  return () => {
    browser.removeEventListener?.('offline', offline);
    browser.removeEventListener?.('online', online);
    browser.document?.removeEventListener?.('visibilitychange', visibility);
  };
}

/** Milliseconds to wait after this many failures, with jitter, so that clients do not all return at once. */
export function retryDelayMs(failures: number): number {
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** failures) * (0.5 + Math.random() / 2);
}
