/**
 * The walls between the rooms. Imports point down the list, through the other room's `index.ts` or a door it names, and a core sees only
 * itself, the rooms below, and packages that only compute. The compiler enforces most of it through project references; `walls-enforced` shows
 * that it does, and the checks here see to the rest: that every room has its project, that no project refers upwards,
 * and that nobody climbs through a window into the middle of another room.
 */
import { posix } from 'node:path';
import { factsOf, resolveImport } from './modules.ts';
import { filesUnder, isTest, type Tree, textOf } from './tree.ts';

/** From the top down, as in ARCHITECTURE.md. */
export const ROOMS = [
  'cli',
  'dashboard',
  'server',
  'sim',
  'client',
  'engine',
  'failover',
  'caspaxos',
  'check',
  'transport',
  'protocol',
] as const;

/**
 * Folders that are doors of their own, by their `index.ts`: who needs one of them does not load the whole room. Everybody else's
 * way in is the room's `index.ts`.
 */
export const DOORS: ReadonlySet<string> = new Set([
  'src/engine/core/index.ts',
  'src/failover/core/index.ts',
  ...['catalog', 'certs', 'config', 'daemon', 'dns', 'gateway', 'http', 'local'].map(
    (folder) => `src/server/${folder}/index.ts`,
  ),
]);

/** It runs in a browser and talks to nodes over HTTP only: it sees no other room, and none sees it. */
const STANDS_ALONE = 'dashboard';

/** The part of the tree that a project covers: a room, or the core inside it. */
interface Place {
  readonly room: string;
  readonly core: boolean;
}

export function placeOf(path: string): Place | undefined {
  const [top, room, inner] = path.split('/');
  return top === 'src' && room !== undefined ? { room, core: inner === 'core' } : undefined;
}

function isBelow(lower: string, upper: string): boolean {
  const ranks = ROOMS as readonly string[];
  return ranks.indexOf(lower) > ranks.indexOf(upper);
}

export function unknownRooms(tree: Tree): string[] {
  const rooms = new Set(filesUnder(tree, ['src'], ['']).map((path) => path.split('/')[1]!));
  return [...rooms]
    .filter((room) => !(ROOMS as readonly string[]).includes(room))
    .map((room) => `src/${room} is no room: give it a place in the order of test/repository/walls.ts`);
}

export function importsThroughWalls(tree: Tree): string[] {
  return filesUnder(tree, ['src'], ['.ts', '.tsx']).flatMap((path) =>
    factsOf(path, textOf(tree, path)).imports.flatMap((specifier) => {
      const complaint = complaintAbout(path, specifier, resolveImport(tree, path, specifier));
      return complaint === undefined ? [] : [`${path} imports ${specifier}: ${complaint}`];
    }),
  );
}

/** Packages that do nothing but compute: forms of data. */
const PURE_PACKAGES: ReadonlySet<string> = new Set(['zod/mini']);

function complaintAbout(path: string, specifier: string, target: string | undefined): string | undefined {
  const here = placeOf(path)!;
  const there = target === undefined ? undefined : placeOf(target);
  if (target === undefined || there === undefined) {
    if (here.core && !isTest(path) && !PURE_PACKAGES.has(specifier))
      return 'a core sees only itself and the rooms below';
    return target === undefined || isTest(path) ? undefined : 'it is outside src';
  }
  if (there.room !== here.room) {
    if ([here.room, there.room].includes(STANDS_ALONE)) return `${STANDS_ALONE} stands alone`;
    if (!isBelow(there.room, here.room)) return `${there.room} is above ${here.room}`;
    // A core that cannot see Node enters the core of another room, which cannot either.
    const isDoor =
      target === `src/${there.room}/index.ts` ||
      DOORS.has(target) ||
      (here.core && target === `src/${there.room}/core/index.ts`);
    return isDoor ? undefined : `${there.room} is entered through its index.ts`;
  }
  if (here.core && !there.core) return 'a core sees only itself and the rooms below';
  if (there.core && !here.core && target !== `src/${there.room}/core/index.ts`) {
    return 'a core is entered through its index.ts';
  }
  return undefined;
}

interface Project {
  readonly references?: readonly { readonly path: string }[];
}

/** Complaints about the projects: missing ones, ones that the root does not build, references that point up. */
export function brokenProjects(tree: Tree): string[] {
  const places = new Set(
    filesUnder(tree, ['src'], ['.ts', '.tsx']).map((path) => {
      const { room, core } = placeOf(path)!;
      return core ? `src/${room}/core` : `src/${room}`;
    }),
  );
  const built = new Set(referencesOf(tree, 'tsconfig.json'));
  return [...places].flatMap((place) => {
    const file = `${place}/tsconfig.json`;
    if (!tree.has(file)) return [`${place} has no tsconfig.json`];
    const complaints = built.has(place) ? [] : [`tsconfig.json does not refer to ${place}`];
    const forbidden = referencesOf(tree, file).filter((target) => !mayRefer(place, target));
    return complaints.concat(forbidden.map((target) => `${file} refers to ${target}`));
  });
}

function referencesOf(tree: Tree, file: string): string[] {
  const { references = [] } = JSON.parse(textOf(tree, file)) as Project;
  return references.map(({ path }) => posix.join(posix.dirname(file), path));
}

function mayRefer(place: string, target: string): boolean {
  const here = placeOf(`${place}/tsconfig.json`)!;
  const there = placeOf(`${target}/tsconfig.json`);
  if (there === undefined) return false;
  if (there.room === here.room) return there.core && !here.core;
  if ([here.room, there.room].includes(STANDS_ALONE)) return false;
  return isBelow(there.room, here.room);
}
