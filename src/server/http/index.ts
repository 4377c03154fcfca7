/** HTTP of the processes: health, metrics, what operators ask. */
export { Doorway } from './doorway.ts';
export { isSame, type HttpRole, HTTP_ROLES } from './admission.ts';
export { badRequest, HTTP_ERRORS, HttpError, type HttpErrorCode } from './errors.ts';
export { readBytes } from './body.ts';
export { HttpServer, type HttpServerOptions } from './http-server.ts';
export { listenOn, refuseToRead } from './listening.ts';
export { describeRoutes, schemaOf } from './openapi.ts';
export { originOf } from './origins.ts';
export { type HttpAnswer, type HttpRequest, neededRole, type Route, type RouteForms } from './routes.ts';
export type { HttpSink } from './sink.ts';
export { HEALTH, type Health, statusRoutes, type StatusSources, WELL } from './status-routes.ts';
