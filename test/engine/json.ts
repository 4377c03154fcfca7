/** JSON as a process reads and writes it, for tests of the core, which cannot see it. */
export { nodeJson } from 'baton/engine';
