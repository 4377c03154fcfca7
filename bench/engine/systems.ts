/** The systems that can be measured, by name. A new one has a row here and one in `stores.ts`. */
import { baton } from './baton.ts';
import { etcd } from './etcd.ts';
import { memory } from './memory.ts';
import { postgres } from './postgres.ts';
import type { SystemKind } from './system.ts';

export const SYSTEMS: Readonly<Record<string, SystemKind>> = { baton, etcd, postgres, memory };
