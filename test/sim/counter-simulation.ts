/** The simulation that docs/simulator.md shows. */
import { latencyModel, losing, plainLink, type SeededSimulation, type SimProcess, World } from 'baton/sim';

/** A server counts for a client and must never count backwards. It keeps the count in memory, and that is its defect. */
export const counterSimulation: SeededSimulation = {
  name: 'counter',
  mustOccur: ['no answer'],
  async run(seed, given) {
    const world = new World(seed);
    const random = world.randomFor('schedule');
    const crash = {
      kind: 'crash',
      fromMs: random.integer(4000),
      untilMs: 4100,
      targets: ['server'],
      strength: 0,
    };
    const schedule = given ?? [crash];
    const network = plainLink(latencyModel('lognormal:8,0.6')!, 2, world.randomFor('network'));
    world.link = losing(network, { share: 0.1, random: world.randomFor('loss') });

    const counts = { answered: 0, 'no answer': 0 };
    const answers: number[] = [];
    let count = 0;
    const server = world.addProcess({ name: 'server', main: () => void (count = 0) });
    const ask = async (client: SimProcess): Promise<void> => {
      for (;;) {
        try {
          answers.push(await world.call(client, server, 100, async () => (count += 1)));
          counts.answered += 1;
        } catch {
          counts['no answer'] += 1;
        }
      }
    };
    const client = world.addProcess({ name: 'client', main: (process) => void ask(process) });
    for (const { fromMs, untilMs } of schedule) {
      world.at(fromMs, server.index, () => server.crash());
      world.at(untilMs, server.index, () => server.start());
    }
    server.start();
    client.start();
    await world.run(5000);

    const at = answers.findIndex((answer, index) => index > 0 && answer <= answers[index - 1]!);
    const message = `${answers[at]} came after ${answers[at - 1]}`;
    return {
      seed,
      configuration: ['network: lognormal:8,0.6', 'loss: 0.1'],
      schedule,
      trace: world.trace.digest(),
      events: world.events,
      virtualMs: world.now,
      counts,
      ...(at > 0 && { failure: { check: 'counts up', message } }),
    };
  },
};
