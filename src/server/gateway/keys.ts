/**
 * The keys of an account: two that may do everything and two that may only read, so that one of each can be changed while
 * clients use the other. They are held as bytes, made once, and shown to nobody.
 */
import { inspect } from 'node:util';
import { KEY_NAMES, type KeyName, type Keys } from '../config/index.ts';

export interface AccountKey {
  readonly name: KeyName;
  readonly isReadOnly: boolean;
  readonly secret: Uint8Array;
}

export class AccountKeys {
  readonly #keys: readonly AccountKey[];

  /** Those that are left out do not exist. */
  constructor(keys: Keys) {
    this.#keys = KEY_NAMES.flatMap((name) => {
      const text = keys[name]?.reveal();
      if (text === undefined || text === '') return [];
      return [{ name, isReadOnly: name.endsWith('ReadOnly'), secret: Buffer.from(text, 'base64') }];
    });
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  [Symbol.iterator](): Iterator<AccountKey> {
    return this.#keys[Symbol.iterator]();
  }

  toJSON(): string {
    return '[keys]';
  }

  [inspect.custom](): string {
    return '[keys]';
  }
}
