/** Whether the doors for HTTP clients stand open: asked where they answer for their health. */
import type { Finding } from './checks.ts';
import { type FoundCluster, type KnownGateway, starting } from './find.ts';
import { ask } from './http.ts';
import { doneAnswer } from './shapes.ts';

export interface ShutGateway {
  readonly gateway: KnownGateway;
  /** It answers, and says itself that it does not serve. */
  readonly isAlive: boolean;
  readonly reason: string;
}

/** Those that have no `http` address cannot be asked. */
export async function shutGateways(
  { gateways, credentials: { tls } }: FoundCluster,
  timeoutMs: number,
): Promise<readonly ShutGateway[]> {
  const asked = await Promise.all(
    gateways.map(async (gateway): Promise<ShutGateway | undefined> => {
      if (gateway.http === undefined) return undefined;
      // Open to everybody: the token of operators is nothing that a gateway should see.
      const outcome = await ask(gateway.http, tls ? { tls } : {}, {
        path: '/readiness',
        shape: doneAnswer,
        timeoutMs,
      });
      if (outcome.kind === 'answer') return undefined;
      const isAlive = outcome.kind === 'refusal';
      return { gateway, isAlive, reason: isAlive ? outcome.message : outcome.reason };
    }),
  );
  return asked.filter((one) => one !== undefined);
}

export function gatewayFinding(
  { gateway: { name, region, http }, isAlive, reason }: ShutGateway,
  found: FoundCluster,
): Finding {
  const who = `The gateway ${name}${region === undefined ? '' : ` of ${region}`}`;
  const why = reason.replace(/\.$/, '');
  const around = region === undefined ? 'the regions' : region;
  return {
    severity: 'warning',
    finding: isAlive
      ? `${who} is not ready: ${why}.`
      : `${who} does not answer at ${http!.host}:${http!.port}: ${why}.`,
    means:
      region === undefined
        ? 'HTTP clients that know the global endpoint only cannot begin; those that know the regions go on.'
        : `HTTP clients find no door in ${region}; those that know the other regions go there. The data are not touched.`,
    remedy: isAlive
      ? `Look again in a few seconds. If it stays, see what is found about the nodes of ${around}, and look at its log.`
      : `Start it (${starting(found, 'gateway', name)}), or look at the network between here and there.`,
  };
}
