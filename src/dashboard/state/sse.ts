/** Server-sent events, taken apart as they arrive: chunks in, whole events out. Comments are a sign of life and nothing more. */

export interface RawEvent {
  readonly type: string;
  readonly data: string;
}

export class EventParser {
  #rest = '';

  /** Pieces that `push` kept because the event has not ended yet. */
  get pending(): number {
    return this.#rest.length;
  }

  push(chunk: string): RawEvent[] {
    const text = this.#rest + chunk;
    const events: RawEvent[] = [];
    let from = 0;
    // What was kept before had no end in it, so the search goes on where the new chunk begins.
    let search = Math.max(0, this.#rest.length - 3);
    for (;;) {
      const end = endOfEvent(text, search);
      if (end === undefined) break;
      const event = parse(text.slice(from, end.at));
      if (event !== undefined) events.push(event);
      from = end.next;
      search = from;
    }
    this.#rest = text.slice(from);
    return events;
  }
}

function endOfEvent(text: string, from: number): { readonly at: number; readonly next: number } | undefined {
  const plain = text.indexOf('\n\n', from);
  const wide = text.indexOf('\r\n\r\n', from);
  if (plain === -1 && wide === -1) return undefined;
  return plain !== -1 && (wide === -1 || plain < wide)
    ? { at: plain, next: plain + 2 }
    : { at: wide, next: wide + 4 };
}

function parse(block: string): RawEvent | undefined {
  let type = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith('event:')) type = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return data.length === 0 ? undefined : { type, data: data.join('\n') };
}
