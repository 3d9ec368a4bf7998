/**
 * Encodes what the server sends: WebSocket frames (RFC 6455 section 5.2) and events of a stream. The same buffer can be
 * written to every socket, because frames are neither compressed nor masked.
 */

export const CHANGE_EVENT = 'change';

const TEXT = 0x81;

/** A whole text message. @param parts UTF-8, in order */
export function encodeTextFrame(parts: readonly Buffer[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  return framed(parts, length, length);
}

/** The beginning of a text message. @param after the number of bytes still to be sent after this part */
export function encodeFrameStart(part: Buffer, after: number): Buffer {
  return framed([part], part.length, part.length + after);
}

/** @param held bytes of the parts, @param length bytes of the message */
function framed(parts: readonly Buffer[], held: number, length: number): Buffer {
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + held);
  frame[0] = TEXT;
  if (head === 2) frame[1] = length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  let at = head;
  for (const part of parts) {
    part.copy(frame, at);
    at += part.length;
  }
  return frame;
}

/** One event of a stream (HTML standard, "Server-sent events"). JSON has no line breaks here, so it is one line. */
export function encodeSseEvent(type: string, json: readonly Buffer[], position: string | null): Buffer {
  const id = position === null ? '' : `\nid: ${position}`;
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), ...json, Buffer.from(`${id}\n\n`)]);
}
