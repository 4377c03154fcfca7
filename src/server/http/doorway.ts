/**
 * Who may keep a connection to an HTTP server. One whose owner has shown nothing yet that lets him in waits in a lobby (`lobby.ts`), from its
 * first byte on and through the TLS handshake: slow and silent strangers make room for each other, and take nobody else's place. Whoever
 * was let in has a seat as long as the connection lasts; without a free one he is answered, and the connection ends.
 */
import type { Server, Socket } from 'node:net';
import { Lobby } from '../../protocol/index.ts';

export interface DoorwayOptions {
  readonly strangers: number;
  readonly seats: number;
  readonly onCrowdedOut?: ((address: string) => void) | undefined;
}

export class Doorway {
  readonly #options: DoorwayOptions;
  readonly #lobby: Lobby;
  readonly #seated = new Set<Socket>();

  constructor(server: Server, options: DoorwayOptions) {
    this.#options = options;
    const { strangers: places, onCrowdedOut } = options;
    this.#lobby = new Lobby({ places, onCrowdedOut });
    server.on('connection', (socket: Socket) => this.#lobby.enter(socket));
  }

  /** Whether the connection may be kept. */
  seat(socket: Socket): boolean {
    if (this.#seated.has(socket)) return true;
    if (this.#seated.size >= this.#options.seats) return false;
    this.#seated.add(socket);
    socket.once('close', () => this.#seated.delete(socket));
    this.#lobby.leave(socket);
    return true;
  }
}
