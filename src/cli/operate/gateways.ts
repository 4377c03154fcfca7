/** Whether the gateways are ready for HTTP clients: asked at the address where they report their health. */
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
  const who = region === undefined ? globalGateway(name) : `The gateway ${name} of ${region}`;
  const why = reason.replace(/\.$/, '');
  const around = region === undefined ? 'the regions' : region;
  return {
    severity: 'warning',
    finding: isAlive
      ? `${who} is not ready: ${why}.`
      : `${who} does not answer at ${http!.host}:${http!.port}: ${why}.`,
    means:
      region === undefined
        ? 'HTTP clients that use the global endpoint get no answer; those that use a regional endpoint are not affected.'
        : `HTTP clients that use the endpoint of ${region} get no answer, and do not try another one. The data is not affected.`,
    remedy: isAlive
      ? `Look again in a few seconds. If it stays, see what is found about the nodes of ${around}, and look at its log.`
      : `Start it (${starting(found, 'gateway', name)}), or look at the network between here and there.`,
  };
}

/** Local clusters call it just that. */
function globalGateway(name: string): string {
  return name === 'gateway' ? 'The global gateway' : `The global gateway ${name}`;
}
