/** The part of a WebSocket that the client uses, so that the runtime's class and that of a package such as `ws` both fit. */

export interface WebSocketLike {
  readonly readyState: number;
  send(text: string): void;
  close(): void;
  addEventListener(type: 'open' | 'error', listener: () => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void;
  addEventListener(type: 'close', listener: (event: { readonly code: number }) => void): void;
}

export type WebSocketClass = new (url: string, protocol: string) => WebSocketLike;

/** `OPEN` of the WebSockets standard. */
const OPEN = 1;

export function isSocketOpen({ readyState }: WebSocketLike): boolean {
  return readyState === OPEN;
}

/** @throws TypeError with advice, if there is no WebSocket class */
export function requireWebSocket(WebSocket: WebSocketClass | undefined): WebSocketClass {
  if (WebSocket !== undefined) return WebSocket;
  throw new TypeError(
    'Live queries need a WebSocket, and this runtime has none (Node has one from version 22 on). ' +
      'Pass one to the client, such as that of the package ws: createClient(url, { WebSocket })',
  );
}
