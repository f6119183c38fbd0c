/** fault, heal: break parts of the cluster on purpose, and heal them. */
import { describeFault, firedText } from '../../../cluster/lab/describe-fault.ts'
import { faultShape } from '../../../cluster/lab/check-fault.ts'
import type { LabFaults } from '../../../cluster/lab/lab.ts'
import { boolean, either, string } from '../../../cluster/shape.ts'
import type { ScenarioCluster } from '../scenario-cluster.ts'
import { defineStep } from '../step.ts'

function faultsOf({ lab }: ScenarioCluster): LabFaults {
  if (lab.faults === undefined) throw new Error('this form of a cluster has no faults')
  return lab.faults
}

export const fault = defineStep({
  name: 'fault',
  summary:
    'Break a part of the cluster until it is healed: `fault: { kind: process, fault: { part: scheduler, action: freeze } }`.',
  shape: faultShape,
  title: (spec) => `fault: ${describeFault(spec)}`,
  run: async (spec, { cluster, note, onEnd }) => {
    const faults = faultsOf(cluster)
    const { name } = await faults.add(spec)
    onEnd(async () => {
      const status = (await faults.list()).find((one) => one.name === name)
      if (status?.fired === 0) note(`fault ${name} never fired: nothing matched`)
      if (status !== undefined && status.ended === undefined) await faults.heal(name)
    })
  },
})

export const heal = defineStep({
  name: 'heal',
  summary: 'End the fault of this name, or with true all of them: `heal: requests-1`.',
  shape: either(string, boolean),
  title: (name) => (name === true ? 'heal all faults' : `heal ${String(name)}`),
  run: async (name, { cluster, note }) => {
    const healed = await faultsOf(cluster).heal(typeof name === 'string' ? name : undefined)
    for (const one of healed) note(`fault ${one.name} ${firedText(one.fired)}`)
  },
})
