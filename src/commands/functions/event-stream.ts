/** Parses a `text/event-stream` incrementally. */

export interface StreamedEvent {
  /** `message` if the stream names none. */
  readonly type: string;
  readonly data: string;
}

/** The events of a stream (HTML Living Standard, section 9.2.6), without ids and retry times. */
export async function* parseServerSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  let type = '';
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (data.length > 0) yield { type: type || 'message', data: data.join('\n') };
      type = '';
      data = [];
      continue;
    }
    const [, field = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'event') type = value;
    if (field === 'data') data.push(value);
  }
}

async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of body) {
    const lines = (rest + decoder.decode(part, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}
