/**
 * What a process says of its own HTTP: an OpenAPI 3.1 description, made from the very table of routes that the server answers by
 * and from the schemas of what they take and answer. What people need to know beyond that stands in `openapi-words.ts`.
 */
import { toJSONSchema, z, type ZodType } from 'zod';
import { neededRole, type Route } from './routes.ts';
import { type RouteWords, ROUTE_WORDS } from './openapi-words.ts';

export interface DescriptionOptions {
  readonly title: string;
  readonly version?: string;
}

/** The routes, and one more that describes them all. */
export function withDescription(title: string, routes: readonly Route[]): readonly Route[] {
  const all: Route[] = [...routes];
  let described: object | undefined;
  all.push({
    method: 'GET',
    path: '/openapi.json',
    isOpen: true,
    forms: { answer: DESCRIPTION },
    handle: () => ({ json: (described ??= describeRoutes(all, { title })) }),
  });
  return all;
}

export function describeRoutes(
  routes: readonly Route[],
  { title, version = '1' }: DescriptionOptions,
): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    (paths[path] ??= {})[route.method.toLowerCase()] = operationOf(route, wordsOf(route));
  }
  return {
    openapi: '3.1.0',
    info: { title, version, description: 'Health, metrics and administration.' },
    paths,
    components: {
      securitySchemes: {
        operator: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The token of operators, if one is set; else a certificate of the authority, or loopback.',
        },
        viewer: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of viewers, if one is set: it opens what only looks.',
        },
      },
      schemas: { Error: schemaOf(ERROR) },
    },
  };
}

export function wordsOf({ method, path }: Pick<Route, 'method' | 'path'>): RouteWords | undefined {
  return ROUTE_WORDS[`${method} ${path}`];
}

function operationOf(route: Route, words: RouteWords | undefined): object {
  const { summary = '', query = {}, body = '', statuses = {}, type = 'application/json' } = words ?? {};
  const { forms = {} } = route;
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }));
  const schema = forms.answer === undefined ? { type: 'string' } : schemaOf(forms.answer);
  const answered = (description: string, how: object): object => ({ description, content: how });
  return {
    operationId: idOf(route),
    summary,
    ...(inPath.length + inQuery.length > 0 && { parameters: [...inPath, ...inQuery] }),
    ...(forms.body !== undefined && {
      requestBody: {
        required: true,
        description: body,
        content: { 'application/json': { schema: schemaOf(forms.body) } },
      },
    }),
    security: securityOf(route),
    responses: {
      200: answered(type === EVENTS ? 'A stream of events; the schema is that of their data.' : 'OK', {
        [type]: { schema },
      }),
      ...Object.fromEntries(
        Object.entries(statuses).map(([status, { text, isAnswer = false }]) => [
          status,
          answered(text, { 'application/json': { schema: isAnswer ? schema : ERROR_REF } }),
        ]),
      ),
      default: answered('It cannot be done; the code says why.', {
        'application/json': { schema: ERROR_REF },
      }),
    },
  };
}

function securityOf(route: Route): readonly object[] {
  if (route.isOpen === true) return [];
  return neededRole(route) === 'viewer' ? [{ viewer: [] }, { operator: [] }] : [{ operator: [] }];
}

/** As whoever asks has to write it. Fields may be added later: those that are not named are not forbidden. */
export function schemaOf(form: ZodType): object {
  const { $schema: _, ...schema } = toJSONSchema(form, { io: 'input', unrepresentable: 'any' });
  return schema;
}

/** `POST /v1/lost-writes/reapply` is `postV1LostWritesReapply`. */
function idOf({ method, path }: Route): string {
  const words = path.split(/[^A-Za-z\d]+/).filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}

const EVENTS = 'text/event-stream';

const ERROR_REF = { $ref: '#/components/schemas/Error' };
const ERROR = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const DESCRIPTION = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) });
