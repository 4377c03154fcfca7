/** HTTP of the processes: health, metrics, what operators ask. */
export { isSame } from './admission.ts';
export { badRequest, HTTP_ERRORS, HttpError, type HttpErrorCode } from './errors.ts';
export { HttpServer, type HttpServerOptions } from './http-server.ts';
export type { HttpAnswer, HttpRequest, Route } from './routes.ts';
export { type Health, statusRoutes, type StatusSources, WELL } from './status-routes.ts';
