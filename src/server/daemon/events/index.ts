/** What happens on a node, told as it happens. */
export { EventHub, type EventHubOptions, type EventSources } from './event-hub.ts';
export { historyEventOf } from './history-event.ts';
export { ConnectTimes, RateMeter } from './node-figures.ts';
export {
  EVENT,
  type EventData,
  type EventName,
  EVENTS,
  LOCAL_STATE,
  type LocalState,
  SET_FIELDS,
  type SetRow,
} from './schemas.ts';
export type { CopyFigures, SetPlace, SetSource } from './set-table.ts';
