/** JSON values as they come out of a parser. `__proto__` is a property like any other, so nothing here may assign it. */

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function has(object: JsonObject, name: string): boolean {
  return Object.hasOwn(object, name);
}

export function put(object: JsonObject, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Whether objects and arrays are nested deeper than `levels`. It never goes deeper than that itself. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const element of value) if (isDeeperThan(element, levels - 1)) return true;
    return false;
  }
  for (const name in value) if (isDeeperThan((value as JsonObject)[name], levels - 1)) return true;
  return false;
}

export function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (!isObject(value)) return value;
  const result: JsonObject = {};
  for (const name of Object.keys(value)) put(result, name, copy(value[name]));
  return result;
}

export function without(object: JsonObject, names: ReadonlySet<string>): JsonObject {
  const result: JsonObject = {};
  for (const name of Object.keys(object)) if (!names.has(name)) put(result, name, object[name]);
  return result;
}
