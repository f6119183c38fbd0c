/** FaultRequest: a call of LabFaults as JSON, for threads and processes. */
import { checkFault } from './check-fault.ts'
import type { FaultStatus } from './fault-spec.ts'
import type { LabFaults } from './lab.ts'

export type FaultRequest =
  | { readonly call: 'add'; readonly fault: unknown }
  | { readonly call: 'list' }
  | { readonly call: 'heal'; readonly name?: string }

/** The faults that the call is about. A fault is checked. */
export async function answerFaults(
  faults: LabFaults,
  request: FaultRequest,
): Promise<readonly FaultStatus[]> {
  switch (request.call) {
    case 'add':
      return [await faults.add(checkFault(request.fault))]
    case 'list':
      return await faults.list()
    case 'heal':
      return await faults.heal(request.name)
  }
}

/** The faults behind `ask`. */
export function faultsOver(
  ask: (request: FaultRequest) => Promise<readonly FaultStatus[]>,
): LabFaults {
  return {
    add: async (fault) => {
      const [status] = await ask({ call: 'add', fault })
      if (status === undefined) throw new Error('a fault was added without an answer')
      return status
    },
    list: () => ask({ call: 'list' }),
    heal: (name) => ask({ call: 'heal', ...(name === undefined ? {} : { name }) }),
  }
}
