/** The lab of a cluster of processes: its supervisor is the authority. */
import type { ControlClient } from '../control-client.ts'
import { chaosOver } from './chaos/chaos-request.ts'
import { faultsOver } from './fault-request.ts'
import type { FaultRequest } from './fault-request.ts'
import type { FaultStatus } from './fault-spec.ts'
import type { Lab } from './lab.ts'
import { timeOver } from './time-request.ts'

export function processLab(control: ControlClient): Lab {
  return {
    time: timeOver((request) => control.call('time', request)),
    faults: faultsOver((request) => askFaults(control, request)),
    chaos: chaosOver((request) => control.call('chaos', request)),
  }
}

export async function askFaults(
  control: ControlClient,
  request: FaultRequest,
): Promise<readonly FaultStatus[]> {
  switch (request.call) {
    case 'add':
      return [(await control.call('fault-add', { fault: request.fault })).fault]
    case 'list':
      return (await control.call('fault-list', {})).faults
    case 'heal': {
      const { name } = request
      return (await control.call('fault-heal', name === undefined ? {} : { name })).faults
    }
  }
}
