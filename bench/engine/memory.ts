/**
 * No system at all: what the client costs when every answer is there already. Only by `--systems memory`; it proves the
 * flags and the report where none of the real systems is installed.
 */
import { document } from './load.ts';
import type { OpenStore, SystemKind } from './system.ts';

export const memory: SystemKind = {
  setting: 'nothing behind the client: the cost of measuring',
  lacks: () => undefined,
  create: () => ({
    name: 'memory',
    start: async () => {},
    stop: async () => {},
    clientArgs: () => [],
  }),
};

/** Every key is there from the start. It answers in a turn of the event loop of its own, as a socket would. */
export const openMemory: OpenStore = async (_, { bytes }) => {
  const initial = document(0, bytes);
  const documents = new Map<string, Buffer>();
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    put: async (key, body) => {
      documents.set(key, body);
      await turn();
    },
    get: async (key) => {
      await turn();
      return documents.get(key) ?? initial;
    },
    close: () => documents.clear(),
  };
};
