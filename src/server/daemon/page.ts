/**
 * The page, as a node serves it: what the build has put into `dist/dashboard`. Its files are the same for everybody and hold no
 * data, so they are open to all. The browser is told to run nothing but these files, and to talk to the nodes of this cluster
 * alone. The names of scripts and styles change with their contents: those are kept for ever, the page itself is asked for anew.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type HttpAnswer, HttpError, type HttpRequest, type Route } from '../http/index.ts';

export interface PageOptions {
  /** With `index.html` and `assets/`. */
  readonly directory?: string;
  /** Of the nodes, where the page may ask. */
  readonly origins: ReadonlySet<string>;
}

const DIRECTORY = fileURLToPath(new URL('../../../dist/dashboard/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
};
/** Already small. */
const PACKED: ReadonlySet<string> = new Set(['png', 'woff2']);
const FILE_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]*\.(?<ending>[a-z0-9]+)$/;

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly zipped: Buffer | undefined;
}

export function pageRoutes({ directory = DIRECTORY, origins }: PageOptions): readonly Route[] {
  const files = new PageFiles(directory);
  const policy = { 'content-security-policy': policyFor(origins), 'referrer-policy': 'no-referrer' };
  return [
    {
      method: 'GET',
      path: '/',
      isOpen: true,
      handle: async (request) => {
        const file = await files.find('index.html');
        if (file !== undefined) return answerWith(file, request, { 'cache-control': 'no-cache', ...policy });
        throw new HttpError(
          404,
          'PAGE_NOT_BUILT',
          'The web page is not built; build it with `npm run build`. The API of this node is available under /v1.',
        );
      },
    },
    {
      method: 'GET',
      path: '/assets/:file',
      isOpen: true,
      handle: async (request) => {
        const name = request.params['file']!;
        const file = FILE_NAME.test(name) ? await files.find(`assets/${name}`) : undefined;
        if (file === undefined) throw new HttpError(404, 'NOT_FOUND', 'The web page has no such file.');
        return answerWith(file, request, {
          'cache-control': 'public, max-age=31536000, immutable',
          ...policy,
        });
      },
    },
  ];
}

function answerWith(
  { type, bytes, zipped }: PageFile,
  { headers }: HttpRequest,
  more: Readonly<Record<string, string>>,
): HttpAnswer {
  const takesZipped = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  return {
    type,
    text: zipped !== undefined && takesZipped ? zipped : bytes,
    headers: {
      ...more,
      vary: 'origin, accept-encoding',
      ...(zipped !== undefined && takesZipped && { 'content-encoding': 'gzip' }),
    },
  };
}

function policyFor(origins: ReadonlySet<string>): string {
  return [
    "default-src 'self'",
    `connect-src ${["'self'", ...origins].join(' ')}`,
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Those whose names change with them are read once. */
class PageFiles {
  readonly #directory: string;
  readonly #files = new Map<string, PageFile>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async find(name: string): Promise<PageFile | undefined> {
    const known = this.#files.get(name);
    if (known !== undefined) return known;
    const ending = FILE_NAME.exec(name.split('/').at(-1)!)?.groups?.['ending'] ?? '';
    const bytes = await readFile(`${this.#directory}/${name}`).catch(() => undefined);
    if (bytes === undefined) return undefined;
    const type = TYPES[ending] ?? 'application/octet-stream';
    const zipped = PACKED.has(ending) ? undefined : await promisify(gzip)(bytes);
    const file = { type, bytes, zipped };
    // The page itself changes under its name.
    if (name.startsWith('assets/')) this.#files.set(name, file);
    return file;
  }
}
