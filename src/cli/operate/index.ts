/** The operators' commands, in the manner of `patronictl` (docs/operators.md). */
import type { Command } from 'commander';
import { configCommand } from './config.ts';
import { doctorCommand } from './doctor.ts';
import { failoverCommand } from './failover.ts';
import { historyCommand } from './history.ts';
import { intentsCommand } from './intents.ts';
import { listCommand } from './list.ts';
import { lostWritesCommand } from './lost-writes.ts';
import { pauseCommand, resumeCommand } from './pause.ts';
import { priorityCommand } from './priority.ts';
import { processStage, type Stage } from './stage.ts';
import { switchoverCommand } from './switchover.ts';
import { topologyCommand } from './topology.ts';
import { unpinCommand } from './unpin.ts';

export function operatorCommands(stage: Stage = processStage()): Command[] {
  return [
    listCommand(stage),
    topologyCommand(stage),
    historyCommand(stage),
    switchoverCommand(stage),
    failoverCommand(stage),
    pauseCommand(stage),
    resumeCommand(stage),
    unpinCommand(stage),
    priorityCommand(stage),
    configCommand(stage),
    intentsCommand(stage),
    lostWritesCommand(stage),
    doctorCommand(stage),
  ];
}
