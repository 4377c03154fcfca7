/**
 * The library that makes certificates, loaded when the first one is made. While it loads, it wants decorator metadata on
 * `Reflect` (it injects its own parts by it) and gives up when there is none; afterwards it no longer looks. So the little
 * that it needs is put there for that moment, unless somebody has brought the real thing.
 */
type Library = typeof import('@peculiar/x509');

let loading: Promise<Library> | undefined;

export function x509(): Promise<Library> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Library> {
  const target = Reflect as unknown as Record<string, unknown>;
  if ('getMetadata' in target) return import('@peculiar/x509');
  const methods = metadata();
  Object.assign(target, methods);
  try {
    return await import('@peculiar/x509');
  } finally {
    for (const name of Object.keys(methods)) delete target[name];
  }
}

function metadata() {
  const all = new WeakMap<object, Map<unknown, unknown>>();
  return {
    defineMetadata(key: unknown, value: unknown, target: object): void {
      const own = all.get(target) ?? new Map<unknown, unknown>();
      all.set(target, own.set(key, value));
    },
    getOwnMetadata: (key: unknown, target: object): unknown => all.get(target)?.get(key),
    getMetadata(key: unknown, target: object): unknown {
      for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at) as object | null)
        if (all.get(at)?.has(key)) return all.get(at)!.get(key);
      return undefined;
    },
  };
}
